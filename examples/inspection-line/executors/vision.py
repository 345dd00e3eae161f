"""The vision model, a stand-in: a picture with an odd number of bytes has a defect.

A file `gpu-stuck` in the home makes the card fail, as one does whose driver hangs.
"""

import os

from hermes import Unavailable, register_executor

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run_inference(image_path: str) -> dict:
    """Look for defects in a picture, on the GPU.

    hermes:timeout 25
    hermes:retry 0
    hermes:resources {gpu: true, memory_mb: 7500}
    """
    if os.path.exists(os.path.join(HOME, "gpu-stuck")):
        raise Unavailable("CUDA error: the device does not answer")
    size = os.path.getsize(image_path)
    return {"status": "ok", "by": "gpu", "image": image_path, "defects": size % 2}


register_executor("cv_inspect", run_inference)

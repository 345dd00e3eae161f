"""The same model without a GPU: slower and less exact, and always there."""

import os

from hermes import register_executor


def run_inference(image_path: str) -> dict:
    """Look for defects in a picture, on the CPU.

    hermes:timeout 25
    """
    size = os.path.getsize(image_path)
    return {"status": "ok", "by": "cpu", "image": image_path, "defects": size % 2}


register_executor("cv_inspect_cpu", run_inference)

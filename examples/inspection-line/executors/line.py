"""Stand-ins for the devices of an inspection line: a PLC, a camera's vision model, a microphone, a decision.

Replace each function's body by what talks to your device; nothing else changes.
"""

import json
import os

from hermes import register_executor

GOOD_PART = {"sensor_id": "bearing_001", "part": "B-4711", "present": True}


def read_sensor_data(sensor_id: str) -> dict:
    """Wait for a part in front of the sensor.

    hermes:timeout 10
    hermes:resources {cpu: 1}
    """
    return {"status": "ok", **GOOD_PART, "sensor_id": sensor_id}


def run_inference(image_path: str) -> dict:
    """Look for defects in a picture.

    hermes:timeout 25
    hermes:retry 1
    """
    with open(image_path, "rb") as picture:
        size = len(picture.read())
    return {"status": "ok", "image": image_path, "bytes": size, "defects": 1 if size % 2 else 0}


def listen(audio_device: str) -> dict:
    """Listen to the bearing.

    hermes:timeout 15
    """
    return {"status": "ok", "device": audio_device, "noise_db": 38.5}


def decide(cv_result: dict, audio_result: dict) -> dict:
    """Good or not: a defect that was seen, or a noise that was heard.

    hermes:timeout 5
    """
    noise = (audio_result or {}).get("noise_db", 0)
    return {"status": "ok", "eject_flag": cv_result["defects"] > 0 or noise > 60}


def write_command(command: str, value: bool) -> dict:
    """Tell the PLC what to do with the part.

    hermes:timeout 3
    """
    with open(os.environ.get("LINE_LOG", "/dev/null"), "a") as log:
        log.write(json.dumps({"command": command, "value": value}) + "\n")
    return {"status": "ok", "command": command, "value": value}


register_executor("plc_read", read_sensor_data)
register_executor("cv_inspect", run_inference)
register_executor("audio_analyze", listen)
register_executor("decision_engine", decide)
register_executor("plc_write", write_command)

"""Stand-ins for what stands at the line: a PLC, a microphone, the decision, the mail to the foreman.

Replace the body of a function by what talks to your device; nothing else changes. What they do is written to line.log of
the home. A file `plc-silent` in the home makes the PLC not answer.
"""

import json
import os

from hermes import register_executor

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def note(**what) -> None:
    with open(os.path.join(HOME, "line.log"), "a", encoding="utf-8") as log:
        log.write(json.dumps(what, ensure_ascii=False) + "\n")


def read_sensor_data(sensor_id: str) -> dict:
    """Wait for a part in front of the sensor.

    hermes:timeout 10
    hermes:retry 0
    hermes:resources {cpu: 1}
    """
    if os.path.exists(os.path.join(HOME, "plc-silent")):
        return {"status": "error", "error": f"the PLC does not answer for {sensor_id}"}
    return {"status": "ok", "sensor_id": sensor_id, "part": "B-4711"}


def listen(audio_device: str) -> dict:
    """Listen to the bearing.

    hermes:timeout 15
    """
    return {"status": "ok", "device": audio_device, "noise_db": 38.5}


def decide(cv_result: dict, audio_result: dict) -> dict:
    """Good or not: a defect that was seen, or a noise that was heard. Without a sound, the picture alone decides.

    hermes:timeout 5
    """
    noise = (audio_result or {}).get("noise_db", 0)
    return {"status": "ok", "eject_flag": cv_result["defects"] > 0 or noise > 60}


def write_command(command: str, value: bool) -> dict:
    """Tell the PLC what to do with the part.

    hermes:timeout 3
    """
    note(command=command, value=value)
    return {"status": "ok"}


def notify(subject: str, body: str) -> dict:
    """Tell the foreman. Take this away and set `deliver.email` in config.yaml, and it is a mail.

    hermes:timeout 10
    """
    note(subject=subject, body=body)
    return {"status": "ok"}


register_executor("plc_read", read_sensor_data)
register_executor("audio_analyze", listen)
register_executor("decision_engine", decide)
register_executor("plc_write", write_command)
register_executor("email_notify", notify)

"""Python next to TypeScript: what it returns, the next task has as a value."""

import csv
from statistics import mean

from nightshift import executor


@executor
def read_temperatures(path: str, above: float = 60.0) -> dict:
    """Means of each sensor in a CSV file with the columns sensor and celsius.

    nightshift:timeout 30
    nightshift:effects none
    """
    readings: dict = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            readings.setdefault(row["sensor"], []).append(float(row["celsius"]))
    means = {sensor: round(mean(values), 2) for sensor, values in readings.items()}
    return {"means": means, "hot": [sensor for sensor, value in means.items() if value > above]}

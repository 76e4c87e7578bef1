"""Sends the curves of a run to Weights & Biases or MLflow.

Reads requests from the standard input and writes a response to each, as JSON Lines:

* {"start": RUN} with the service, project, id, name, settings and provenance of the run. The response has the step of
  the last record that the service has, or null.
* {"records": [RECORD, ...]} with the records of curves that follow, as in metrics.jsonl.
* {"end": STATE} with the state of the run. The response says where the run is shown.

The response {"missing": MODULE} or {"error": TEXT} ends the program.
"""

import json
import os
import sys

# Modules come from the environment, not from the current directory.
sys.path = [directory for directory in sys.path if directory]
# Everything that the packages print goes to the standard error.
responses = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

POSITION = ("frames", "steps", "updates")


def values(record):
    """Returns the metrics of a record. The position is not a metric."""
    return {tag: value for tag, value in record.items() if tag not in POSITION and isinstance(value, (int, float))}


def flat(settings, prefix=""):
    """Returns nested settings with dotted keys."""
    keys = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            keys.update(flat(value, f"{prefix}{key}."))
        else:
            keys[prefix + key] = value
    return keys


class WeightsAndBiases:
    """A run with the steps of the agent, as in TensorBoard."""

    def __init__(self, run):
        import wandb

        self._run = wandb.init(
            project=run["project"],
            id=run["id"],
            name=run["name"],
            config={**run["settings"], "run": run["provenance"]},
            resume="allow",
            settings=wandb.Settings(silent=True, console="off"),
        )
        # The step of the next record, 0 for a new run.
        self.step = self._run.step - 1 if self._run.step else None

    def send(self, records):
        for record in records:
            self._run.log(values(record), step=record["steps"])

    def end(self, state):
        place = self._run.settings.sync_dir if self._run.offline else self._run.url
        self._run.finish(exit_code=0 if state in ("running", "finished") else 1)
        return place


class MLflow:
    """A run with the steps of the agent, as in TensorBoard. A tag has the last one, because MLflow keeps no order."""

    ID, STEP = "ale_train.run", "ale_train.step"
    STATES = {"running": "RUNNING", "finished": "FINISHED"}

    def __init__(self, run):
        import mlflow

        self._uri = mlflow.get_tracking_uri()
        self._client = mlflow.MlflowClient()
        self._started = run["provenance"].get("started") or 0
        experiment = self._client.get_experiment_by_name(run["project"])
        self._experiment = experiment.experiment_id if experiment else self._client.create_experiment(run["project"])
        found = self._client.search_runs([self._experiment], f"tags.`{self.ID}` = '{run['id']}'", max_results=1)
        found = found[0] if found else self._create(run)
        self._id = found.info.run_id
        step = found.data.tags.get(self.STEP)
        self.step = None if step is None else int(step)

    def _create(self, run):
        from mlflow.entities import Param

        created = self._client.create_run(
            self._experiment, self._started * 1000, tags={self.ID: run["id"]}, run_name=run["name"]
        )
        settings = flat({**run["settings"], "run": run["provenance"]})
        params = [Param(key, str(value)[:500]) for key, value in settings.items()]
        # The most that MLflow takes at once.
        for first in range(0, len(params), 100):
            self._client.log_batch(created.info.run_id, params=params[first : first + 100])
        return created

    def send(self, records):
        from mlflow.entities import Metric

        metrics = [
            Metric(tag, value, int(1000 * (self._started + record.get("seconds", 0))), record["steps"])
            for record in records
            for tag, value in values(record).items()
        ]
        for first in range(0, len(metrics), 1000):
            self._client.log_batch(self._id, metrics=metrics[first : first + 1000])
        if records:
            self._client.set_tag(self._id, self.STEP, str(records[-1]["steps"]))

    def end(self, state):
        self._client.set_terminated(self._id, self.STATES.get(state, "KILLED"))
        if state == "running":
            self._client.update_run(self._id, status="RUNNING")
        page = f"/#/experiments/{self._experiment}/runs/{self._id}" if self._uri.startswith("http") else ""
        return self._uri + page


TRACKERS = {"wandb": WeightsAndBiases, "mlflow": MLflow}


def respond(response):
    responses.write(json.dumps(response) + "\n")
    responses.flush()


def main():
    tracker = None
    for line in sys.stdin:
        request = json.loads(line)
        if "start" in request:
            tracker = TRACKERS[request["start"]["service"]](request["start"])
            respond({"step": tracker.step})
        elif "records" in request:
            tracker.send(request["records"])
            respond({"step": request["records"][-1]["steps"]})
        else:
            respond({"place": tracker.end(request["end"])})


try:
    main()
except ModuleNotFoundError as error:
    respond({"missing": error.name})
except Exception as error:
    respond({"error": f"{type(error).__name__}: {error}"})

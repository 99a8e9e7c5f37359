"""MLflow with its database store: migrations, experiments, runs, metrics, searches, models, a server.

Later versions make a trigger."""

import json
import logging
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import warnings

HOST, PORT, USER, DATABASE = sys.argv[1:5]
URI = f"mysql+pymysql://{USER}@{HOST}:{PORT}/{DATABASE}"
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import mlflow  # noqa: E402
import sqlalchemy  # noqa: E402
from mlflow.entities import Metric, Param, RunTag, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

from steps import check, show, step  # noqa: E402

ENGINE = sqlalchemy.create_engine(URI)
IDS = {}
CLIENT = None


@step
def migrate():
    global CLIENT  # pylint: disable=global-statement
    mlflow.set_tracking_uri(URI)
    mlflow.set_registry_uri(URI)
    CLIENT = MlflowClient(URI, URI)
    CLIENT.search_experiments()
    done = subprocess.run([sys.executable, "-m", "mlflow", "db", "upgrade", URI], check=False,
                          capture_output=True, text=True)
    check(done.returncode == 0, done.stderr[-400:])
    with ENGINE.connect() as connection:
        check(len(connection.execute(sqlalchemy.text("SELECT version_num FROM alembic_version")).all()) == 1)


@step
def tables():
    found = sqlalchemy.inspect(ENGINE)
    for table in sorted(found.get_table_names()):
        show(table, [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in found.get_columns(table)])
        show(found.get_pk_constraint(table), sorted(map(str, found.get_foreign_keys(table))),
             sorted(map(str, found.get_indexes(table))), sorted(map(str, found.get_check_constraints(table))))


@step
def experiments():
    for name in ("first", "second É 🙂"):
        IDS[name] = CLIENT.create_experiment(name, artifact_location="/tmp/none", tags={"team": name[0]})
    show([e.name for e in CLIENT.search_experiments(order_by=["name"])])
    show([e.name for e in CLIENT.search_experiments(filter_string="tags.team = 'f'")])
    show([e.name for e in CLIENT.search_experiments(filter_string="name ILIKE 'FIR%'")])
    CLIENT.rename_experiment(IDS["second É 🙂"], "renamed")
    CLIENT.delete_experiment(IDS["second É 🙂"])
    show(len(CLIENT.search_experiments(view_type=ViewType.DELETED_ONLY)))
    CLIENT.restore_experiment(IDS["second É 🙂"])
    CLIENT.set_experiment_tag(IDS["first"], "more", "x" * 400)
    try:
        CLIENT.create_experiment("first")
    except MlflowException as error:
        show(error.error_code)


@step
def runs():
    for i in range(20):
        run = CLIENT.create_run(IDS["first"], start_time=1_700_000_000_000 + i, tags={"parity": str(i % 2)}, run_name=f"run {i}")
        IDS[i] = run.info.run_id
        metrics = [Metric("loss", 1 / (step + 1) + i, 1_700_000_000_000 + step, step) for step in range(30)]
        metrics += [Metric("odd", value, 1_700_000_000_000, 0) for value in (float("nan"), float("inf"), -float("inf"))][i % 3:][:1]
        CLIENT.log_batch(IDS[i], metrics=metrics, params=[Param("depth", str(i)), Param("kind", "a" if i < 10 else "b")],
                         tags=[RunTag("note", "n" * i)])
    show([(m.step, round(m.value, 6)) for m in CLIENT.get_metric_history(IDS[3], "loss")][:5])
    data = CLIENT.get_run(IDS[4]).data
    show(data.params, {key: str(value) for key, value in data.metrics.items()}, data.tags["note"])


@step
def metrics_again():
    CLIENT.log_metric(IDS[0], "loss", 0.25, 1_700_000_000_100, 40)
    CLIENT.log_metric(IDS[0], "loss", 0.25, 1_700_000_000_100, 40)
    show(CLIENT.get_run(IDS[0]).data.metrics["loss"], len(CLIENT.get_metric_history(IDS[0], "loss")))
    CLIENT.log_param(IDS[0], "depth", "0")
    try:
        CLIENT.log_param(IDS[0], "depth", "1")
    except MlflowException as error:
        show(error.error_code, str(error)[:60])
    try:
        CLIENT.log_param(IDS[0], "long", "x" * 7000)
    except MlflowException as error:
        show(error.error_code)


@step
def searches():
    def found(text, **options):
        return [run.info.run_name for run in CLIENT.search_runs([IDS["first"]], text, **options)]
    show(found("metrics.loss < 5 AND params.kind = 'a'", order_by=["metrics.loss DESC"]))
    show(found("tags.parity = '1' AND attributes.run_name LIKE 'run 1%'", order_by=["params.depth"]))
    show(found(f"attributes.run_id IN ('{IDS[3]}', '{IDS[4]}')", order_by=["attributes.start_time ASC"]))
    show(found("attributes.status = 'RUNNING'", max_results=3, order_by=["metrics.odd ASC", "tags.note DESC"]))
    show(found("metrics.loss > 3 and params.kind ILIKE 'B'", order_by=["start_time"])[:2])
    page = CLIENT.search_runs([IDS["first"]], "", max_results=7, order_by=["start_time"])
    second = CLIENT.search_runs([IDS["first"]], "", max_results=7, order_by=["start_time"], page_token=page.token)
    show([run.info.run_name for run in second])


@step
def ends():
    CLIENT.set_terminated(IDS[0], end_time=1_700_000_009_000)
    CLIENT.delete_run(IDS[1])
    show(CLIENT.get_run(IDS[0]).info.status, CLIENT.get_run(IDS[1]).info.lifecycle_stage)
    CLIENT.restore_run(IDS[1])
    CLIENT.delete_tag(IDS[2], "note")
    show(sorted(key for key in CLIENT.get_run(IDS[2]).data.tags if not key.startswith("mlflow.")))


@step
def datasets():
    from mlflow.entities import Dataset, DatasetInput, InputTag
    inputs = [DatasetInput(Dataset(f"data {i}", f"digest {i}", "local", json.dumps({"path": "x" * 500})), [InputTag("use", "train")]) for i in range(2)]
    CLIENT.log_inputs(IDS[5], inputs)
    CLIENT.log_inputs(IDS[6], inputs[:1])
    # They come in the order of their generated ids.
    show(sorted((entry.dataset.name, entry.tags[0].value) for entry in CLIENT.get_run(IDS[5]).inputs.dataset_inputs))


@step
def registry():
    CLIENT.create_registered_model("model", tags={"a": "1"}, description="it")
    for i in range(3):
        version = CLIENT.create_model_version("model", f"/tmp/none/{i}", IDS[i], tags={"n": str(i)})
        show(version.version, version.current_stage)
    CLIENT.set_registered_model_alias("model", "best", "2")
    show(CLIENT.get_model_version_by_alias("model", "best").version)
    CLIENT.transition_model_version_stage("model", "1", "Production")
    show([(v.version, v.current_stage) for v in CLIENT.get_latest_versions("model")])
    show([v.version for v in CLIENT.search_model_versions("name = 'model' AND tags.n = '2'")],
         [m.name for m in CLIENT.search_registered_models("name LIKE 'mo%'")])
    CLIENT.delete_model_version("model", "1")
    show([v.version for v in CLIENT.search_model_versions("name = 'model'", order_by=["version_number ASC"])])
    CLIENT.delete_registered_model("model")
    show(len(CLIENT.search_registered_models()))


@step
def server():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open("server.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([sys.executable, "-m", "mlflow", "server", "--backend-store-uri", URI, "--port", str(port), "--workers", "1",
                                    "--default-artifact-root", "/tmp/none"], stdout=log, stderr=log)
    try:
        for _ in range(240):
            try:
                if urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).read() == b"OK":
                    break
            except OSError:
                time.sleep(0.5)
        remote = MlflowClient(f"http://127.0.0.1:{port}")
        show([e.name for e in remote.search_experiments(order_by=["name"])])
        run = remote.create_run(IDS["first"], run_name="remote")
        remote.log_metric(run.info.run_id, "m", 1.5)
        remote.log_batch(run.info.run_id, params=[Param("p", "q")])
        show(remote.get_run(run.info.run_id).data.metrics, [r.info.run_name for r in remote.search_runs([IDS["first"]], "metrics.m > 1")])
    finally:
        process.terminate()
        process.wait(30)


@step
def collect():
    CLIENT.delete_run(IDS[7])
    done = subprocess.run([sys.executable, "-m", "mlflow", "gc", "--backend-store-uri", URI, "--older-than", "0s"], check=False,
                          capture_output=True, text=True, env={**os.environ, "MLFLOW_TRACKING_URI": URI})
    check(done.returncode == 0, re.sub(r"[0-9a-f]{32}", "ID", done.stderr[-400:]))
    with ENGINE.connect() as connection:
        show(connection.execute(sqlalchemy.text("SELECT COUNT(*) FROM runs")).scalar(),
             connection.execute(sqlalchemy.text("SELECT COUNT(*) FROM metrics")).scalar())

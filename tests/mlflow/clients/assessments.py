"""Feedback and expectations: logged, read with their trace, changed, replaced and deleted."""

import os

import mlflow
from mlflow.entities import AssessmentSource, Feedback

experiment = mlflow.set_experiment(os.environ["TEST_NAME"])


@mlflow.trace
def answer(question: str) -> str:
    mlflow.log_feedback(trace_id=mlflow.get_active_trace_id(), name="early", value=1.5)
    return question.upper()


with mlflow.start_run():
    answer("why?")
mlflow.flush_trace_async_logging()
trace = mlflow.get_last_active_trace_id()
human = AssessmentSource(source_type="HUMAN", source_id="ann")

right = mlflow.log_feedback(
    trace_id=trace, name="right", value=True, source=human, rationale="it is", metadata={"a": "b"}
)
mlflow.log_feedback(trace_id=trace, name="list", value=["x", "y"])
mlflow.log_feedback(trace_id=trace, name="broken", error=ValueError("boom"))
mlflow.log_expectation(trace_id=trace, name="expected", value={"answer": "WHY?"})


def told() -> dict[str, object]:
    return {a.name: a for a in mlflow.get_trace(trace).info.assessments}


found = told()
assert set(found) == {"early", "right", "list", "broken", "expected"}
assert found["early"].value == 1.5
assert (found["right"].value, found["right"].rationale, found["right"].metadata) == (True, "it is", {"a": "b"})
assert found["right"].source.source_id == "ann"
assert found["list"].value == ["x", "y"]
assert found["broken"].error.error_message == "boom"
assert found["expected"].value == {"answer": "WHY?"}

changed = mlflow.update_assessment(trace, right.assessment_id, Feedback(name="right", value=False, metadata={"c": "d"}))
assert (changed.value, changed.metadata) == (False, {"a": "b", "c": "d"})
assert mlflow.get_assessment(trace, right.assessment_id).value is False
other = mlflow.override_feedback(trace_id=trace, assessment_id=right.assessment_id, value="yes")
assert mlflow.get_assessment(trace, right.assessment_id).valid is False
mlflow.delete_assessment(trace, other.assessment_id)
assert mlflow.get_assessment(trace, right.assessment_id).valid is True
mlflow.delete_assessment(trace, right.assessment_id)
assert set(told()) == {"early", "list", "broken", "expected"}
assert [
    len(t.info.assessments) for t in mlflow.search_traces(locations=[experiment.experiment_id], return_type="list")
] == [4]

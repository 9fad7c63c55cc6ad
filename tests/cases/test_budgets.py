from fractions import Fraction

from tests.cases.convert import load_case
from tokengap.handoff import replicas


def test_51_replicas_cannot_cut_one_prefill() -> None:
    case = load_case("51")
    found = replicas(
        Fraction(str(case.input["demand_req_per_s"])),
        Fraction(str(case.input["worker_req_per_s"])),
        case.input["single_request_ttft_ns"],
        case.input["target_ttft_ns"],
    )
    assert found.for_demand == case.expect["replicas_for_demand"] != case.naive["replicas"]
    assert found.feasible is case.expect["feasible"]
    assert found.reason == case.expect["reason"]

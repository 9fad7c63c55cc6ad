from fractions import Fraction

from tests.cases.convert import load_case
from tokengap.handoff import Link, gqa, replicas


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


def test_52_kv_bytes_of_grouped_heads() -> None:
    case = load_case("52")
    given, right = case.input, case.expect
    cache = gqa(
        given["layers"], given["kv_heads"], given["head_dim"], Fraction(given["bytes_per_element"])
    )
    payload_bytes = cache.prompt_bytes(given["tokens"])
    assert cache.bytes_per_token == right["kv_bytes_per_token"] != case.naive["kv_bytes_per_token"]
    assert payload_bytes == right["payload_bytes"]
    transfer_ns = Link(given["link_bytes_per_s"]).transfer_ns(payload_bytes)
    assert transfer_ns == Fraction(right["transfer_ns"]) != Fraction(case.naive["transfer_ns"])

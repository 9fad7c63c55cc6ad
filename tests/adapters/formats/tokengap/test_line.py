"""One line of tokengap's own log: what is accepted, and why the rest is not."""

import pytest

from tokengap.adapters.formats.tokengap.line import KINDS, Record, read
from tokengap.adapters.shared.lines import LineError
from tokengap.schema import STAGES, TIME_LIMIT_NS

AGGREGATE = '"aggregate"'
TOO_LATE = TIME_LIMIT_NS + 1


def error_of(text: str) -> LineError:
    with pytest.raises(LineError) as caught:
        read(text.encode())
    return caught.value


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ('{"request_id":"a","t_ns":1.0}', "t_ns", "1.0"),
        ('{"request_id":"a","t_ns":1764412800000000201.5}', "t_ns", "1764412800000000201.5"),
        ('{"request_id":"a","t_ns":1e3}', "t_ns", "1e3"),
        ('{"request_id":"a","t_ns":-0.0}', "t_ns", "-0.0"),
        ('{"request_id":"a","t_ns":true}', "t_ns", "true"),
        ('{"request_id":"a","t_ns":"12"}', "t_ns", '"12"'),
        ('{"request_id":"a","t_ns":null}', "t_ns", "null"),
        ('{"request_id":"a","t_ns":NaN}', "t_ns", "NaN"),
        ('{"request_id":"a","t_ns":-Infinity}', "t_ns", "-Infinity"),
        (f'{{"request_id":"a","t_ns":{TOO_LATE}}}', "t_ns", str(TOO_LATE)),
        (f'{{"request_id":"a","t_ns":-{TOO_LATE}}}', "t_ns", f"-{TOO_LATE}"),
        ('{"request_id":"a","t_ns":1,"index":-1}', "index", "-1"),
        ('{"request_id":"a","t_ns":1,"index":[0]}', "index", "[0]"),
        ('{"request_id":"a","t_ns":1,"attempt":2147483648}', "attempt", "2147483648"),
        ('{"request_id":"a","t_ns":1,"choice":-1}', "choice", "-1"),
        ('{"request_id":"a","t_ns":1,"n_tokens":0}', "n_tokens", "0"),
        ('{"request_id":"a","t_ns":1,"kind":"usage","n_tokens":7}', "n_tokens", "7"),
        ('{"request_id":"a","t_ns":1,"kind":"tokn"}', "kind", '"tokn"'),
        ('{"request_id":"a","t_ns":1,"kind":"done\\n"}', "kind", '"done\\n"'),
        ('{"request_id":"a","t_ns":1,"vantage":"proxy"}', "vantage", '"proxy"'),
        ('{"request_id":"a","t_ns":1,"status":"ok"}', "status", '"ok"'),
        ('{"request_id":"a","t_ns":1,"streamed":1}', "streamed", "1"),
        ('{"request_id":"a","t_ns":1,"kv_bytes":-1}', "kv_bytes", "-1"),
        ('{"request_id":"a","t_ns":1,"times_ns":[1]}', "times_ns", "[1]"),
        ('{"request_id":"a","t_ns":1,"token_counts":[1]}', "token_counts", "[1]"),
        ('{"request_id":"a","times_ns":[1,2.0]}', "times_ns[1]", "2.0"),
        ('{"request_id":"a","times_ns":[1,null]}', "times_ns[1]", "null"),
        ('{"request_id":"a","times_ns":[1,2],"token_counts":[1]}', "token_counts", "[1]"),
        ('{"request_id":"a","times_ns":[1],"token_counts":[0]}', "token_counts[0]", "0"),
        ('{"request_id":"a","times_ns":[1],"index":0}', "index", "0"),
        ('{"request_id":"a","times_ns":[1],"last_token_ns":1}', "last_token_ns", "1"),
        ('{"request_id":"a","times_ns":[],"granularity":"aggregate"}', "granularity", AGGREGATE),
        ('{"request_id":"a","granularity":"token"}', "granularity", '"token"'),
        (
            '{"request_id":"a","t_ns":1,"token_count_source":"usage"}',
            "token_count_source", '"usage"',
        ),
        (
            '{"request_id":"a","t_ns":1,"last_prefill_token":1,"handoff_source":"none"}',
            "handoff_source", '"none"',
        ),
    ],
)  # fmt: skip
def test_a_bad_value_is_named_as_it_is_written(text: str, field: str, value: str) -> None:
    error = error_of(text)
    assert (error.field, error.value) == (field, value)
    assert error.reason.startswith(field.split("[", maxsplit=1)[0])


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"request_id":7,"t_ns":1}', "request_id"),
        ('{"request_id":"","t_ns":1}', "request_id"),
        ('{"t_ns":1}', "request_id"),
        ('{"request_id":"a"}', "t_ns"),
        ('{"request_id":"a","t_ns":1,"model":7}', "model"),
        ('{"request_id":"a","t_ns":1,"error_kind":["secret prompt"]}', "error_kind"),
        ('{"request_id":"a","t_ns":1,"ids":{"x":1}}', "ids[...]"),
        ('{"request_id":"a","t_ns":1,"labels":"secret"}', "labels"),
        ('{"request_id":"a","times_ns":[1],"marks":[{"kind":"token","t_ns":1}]}', "marks[0].kind"),
        ('{"request_id":"a","times_ns":[1],"stages":[{"start_ns":1}]}', "stages[0]"),
        ('{"request_id":"a","t_ns":1,"stages":{"name":"queue"}}', "stages"),
        ('{"request_id":"a","t_ns":1,"t_ns":1}', "t_ns"),
        ('{"request_id":"a","t_ns":1,"\\u0074_ns":2}', "t_ns"),
        ('{"request_id":"a","t_ns":1,"other":{"x":1,"x":1}}', "x"),
    ],
)
def test_a_value_that_may_be_text_is_not_shown(text: str, field: str) -> None:
    error = error_of(text)
    assert (error.field, error.value) == (field, None)


@pytest.mark.parametrize(
    "text",
    [
        "x", "[1]", "7", '{"request_id":"a","t_n', '{"request_id":"a","t_ns":1}{"a":2}',
        '{"request_id":"a","t_ns":1},', '{"request_id":"a","t_ns":1,"x":"\ud800"}',
    ],
)  # fmt: skip
def test_what_is_not_one_object_is_refused(text: str) -> None:
    with pytest.raises(LineError):
        read(text.encode(errors="surrogatepass"))


def test_an_unknown_kind_is_told_all_the_known_ones() -> None:
    reason = error_of('{"request_id":"a","t_ns":1,"kind":"x"}').reason
    assert all(kind in reason for kind in KINDS)


@pytest.mark.parametrize(
    ("stage", "field"),
    [
        ('{"name":"wait","duration_ns":1}', ".name"),
        ('{"name":"queue\\n","duration_ns":1}', ".name"),
        ('{"name":"queue"}', ""),
        ('{"name":"queue","duration_ns":null}', ""),
        ('{"name":"queue","duration_ns":-1}', ""),
        ('{"name":"queue","duration_ns":1.0}', ".duration_ns"),
        ('{"name":"queue","start_ns":1}', ""),
        ('{"name":"queue","end_ns":1,"duration_ns":1}', ""),
        ('{"name":"queue","start_ns":1,"end_ns":4,"duration_ns":2}', ".duration_ns"),
        ('{"name":"queue","duration_ns":1,"clock":"c"}', ".clock"),
        ('{"name":"queue","start_ns":1,"end_ns":4,"worker":0}', ".worker"),
        ('{"name":"queue","duration_ns":1,"wrker":"p"}', ""),
    ],
)
def test_a_stage_is_an_interval_or_a_duration(stage: str, field: str) -> None:
    good = '{"name":"queue","duration_ns":0}'
    for head in ('"t_ns":1', '"times_ns":[1]'):
        error = error_of(f'{{"request_id":"a",{head},"stages":[{good},{stage}]}}')
        assert (error.field, error.value) == (f"stages[1]{field}", None)
        read(f'{{"request_id":"a",{head},"stages":[{good}]}}'.encode())


def test_an_unknown_stage_is_told_all_the_known_ones() -> None:
    reason = error_of('{"request_id":"a","t_ns":1,"stages":[{"name":"x","duration_ns":1}]}').reason
    assert all(stage in reason for stage in STAGES)


@pytest.mark.parametrize(
    ("reported", "field"),
    [
        ('{"metric":"ttft","value_ns":5}', ""),
        ('{"metric":"ttft","value_ns":5,"formula":""}', ".formula"),
        ('{"metric":"","value_ns":5,"formula":"f"}', ".metric"),
        ('{"metric":"ttft","value_ns":5.0,"formula":"f"}', ".value_ns"),
        ('{"metric":"ttft","value_ns":5,"formula":"f","unit":"ms"}', ""),
    ],
)
def test_a_reported_number_has_its_formula(reported: str, field: str) -> None:
    error = error_of(f'{{"request_id":"a","t_ns":1,"reported":[{reported}]}}')
    assert (error.field, error.value) == (f"reported[0]{field}", None)


def test_null_is_like_not_given() -> None:
    names = [name for name in Record.__struct_fields__ if name not in ("request_id", "t_ns")]
    nulls = ",".join(f'"{name}":null' for name in names)
    record, _ = read(f'{{"request_id":"a","t_ns":1,{nulls}}}'.encode())
    assert record == Record(request_id="a", t_ns=1)


def test_the_limits_themselves_are_accepted() -> None:
    record, _ = read(f'{{"request_id":"a","times_ns":[-{TIME_LIMIT_NS},{TIME_LIMIT_NS}]}}'.encode())
    assert record.times_ns == [-TIME_LIMIT_NS, TIME_LIMIT_NS]


def test_fields_beyond_the_format_are_allowed() -> None:
    record, fields = read(b'{"request_id":"a","t_ns":1,"logprobs":{"x":[-0.5]}}')
    assert record == Record(request_id="a", t_ns=1)
    assert fields["logprobs"] == {"x": [-0.5]}

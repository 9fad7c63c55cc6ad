from tokengap.adapters.shared.names import Names


def test_each_name_is_given_once() -> None:
    names = Names()
    given = [names.name(logged, index) for index, logged in enumerate(["a", None, "a", "1", ""])]
    assert given == ["a", "1", "a#2", "1#3", "4"]

"""Results as JUnit XML."""

from xml.etree import ElementTree

from mqttpub.view.export.junit import Case, junit

CASES = [
    Case("a.mqtt", "5.0", 0.5),
    Case("b.mqtt", "5.0", 1.25, failure="line 3: no PUBACK <within> 2 s", details='awaited "x"\n\x1b[31m & more'),
    Case("a.mqtt", "3.1.1", 0, skipped="not for 3.1.1"),
    Case("b.mqtt", "3.1", 0, error="Connection refused"),
]


def test_every_reader_of_xml_finds_what_was_written() -> None:
    root = ElementTree.fromstring("\n".join(junit("step & more", CASES)))
    assert root.attrib == {"name": "step & more", "tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    suites = root.findall("testsuite")
    assert [suite.attrib for suite in suites] == [
        {"name": "a.mqtt", "tests": "2", "failures": "0", "errors": "0", "skipped": "1", "time": "0.500"},
        {"name": "b.mqtt", "tests": "2", "failures": "1", "errors": "1", "skipped": "0", "time": "1.250"},
    ]
    failure = suites[1].find("testcase/failure")
    assert failure is not None
    assert failure.attrib == {"message": "line 3: no PUBACK <within> 2 s"}
    assert failure.text == 'awaited "x"\n\\x1b[31m & more'
    assert [each.attrib for each in suites[1].findall("testcase/error")] == [{"message": "Connection refused"}]
    assert [case.attrib["name"] for case in suites[0].findall("testcase")] == ["5.0", "3.1.1"]


def test_no_cases_are_a_file_too() -> None:
    assert ElementTree.fromstring("\n".join(junit("none", []))).attrib["tests"] == "0"

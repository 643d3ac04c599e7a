"""Rows of CSV files, as the standard library writes them, and what is not CSV."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.common.errors import UserError
from mqttpub.payload.csv_rows import LONGEST_ROW_BYTES, CsvRows, read_csv

cells = st.text(st.sampled_from('ab",;\n\tü '), max_size=4)


def read(data: bytes) -> tuple[tuple[str, ...], list[list[bytes]]]:
    columns, rows = read_csv(io.BytesIO(data), "f.csv")
    return columns, list(rows)


@given(
    st.integers(1, 4).flatmap(lambda size: st.lists(st.lists(cells, min_size=size, max_size=size), max_size=5)),
    st.sampled_from([",", ";", "\t"]), st.sampled_from(["\n", "\r\n"]), st.booleans(),
)  # fmt: skip
def test_rows_are_those_that_another_writer_wrote(rows: list[list[str]], separator: str, end: str, mark: bool) -> None:
    # The header has a second column, which shows the separator, and one-cell rows are quoted to differ from nothing.
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_MINIMAL)
    writer.writerow(["first", *(f"c{number}" for number in range(len(rows[0]) if rows else 1))])
    writer.writerows([["x", *row] for row in rows])
    data = written.getvalue().encode("utf-8-sig" if mark else "utf-8")
    columns, found = read(data)
    assert columns[0] == "first"
    assert found == [[b"x", *(cell.encode() for cell in row)] for row in rows]


def test_bytes_that_are_no_text_stay_and_empty_lines_are_no_rows() -> None:
    assert read(b'a,b\n\n\xff,"\xfe"\n\n5" pipe,x') == (("a", "b"), [[b"\xff", b"\xfe"], [b'5" pipe', b"x"]])
    assert read(b"only\nx") == (("only",), [[b"x"]])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "line 1: the first line, which names the columns, is empty"),
        (b'a,"b\n', "line 1: a quotation mark in the first line, which names the columns, is not closed"),
        (b"a,b\n1,2\n3\n", "line 3: the row has 1 cell, but the header 2"),
        (b"a,b\n1,2,3", "line 2: the row has 3 cells, but the header 2"),
        (b'a,b\n1,"2\n3,4\n', "line 3: a quotation mark is not closed before the end of the file"),
        (b'a\n"' + b"x" * LONGEST_ROW_BYTES, "line 1: it has more than 131,072 bytes"),
        (b'a\n"' + b"x\n" * LONGEST_ROW_BYTES,
         "line 65537: a row with quotation marks has more than 131,072 bytes; is one not closed?"),
    ],
)  # fmt: skip
def test_what_is_not_csv_is_named_with_its_line(data: bytes, said: str) -> None:
    with pytest.raises(UserError) as caught:
        read(data)
    assert str(caught.value) == f"'f.csv', {said}"


def test_after_a_bad_row_the_next_is_read() -> None:
    rows = CsvRows(b"a,b")
    for bad in (b"1", b'"' + b"x" * LONGEST_ROW_BYTES):
        with pytest.raises(ValueError, match=r"the row has 1 cell|more than"):
            rows.row(bad)
        assert rows.row(b"1,2") == [b"1", b"2"]

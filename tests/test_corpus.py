"""Reading files: every line is kept or counted, whatever the format, the encoding or the damage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.corpora import labels, texts, write
from tsdae_core.corpus import (
    ReadOptions,
    from_pairs,
    from_text,
    read_corpus,
    read_parquet,
    write_parquet,
)
from tsdae_core.sentences import count_words, normalise

GERMAN = "Die Größe überrascht die Schüler.\nÄrger über süße Brötchen in München.\nDas Café öffnet spät.\n"
FRENCH = "L'été où le garçon a reçu l'élève à côté de la forêt.\nÇa ira, dit-il, très déçu.\n"
POLISH = "Zażółć gęślą jaźń, powiedział chłopiec.\nŻółw wędruje powoli przez łąkę.\n"
RUSSIAN = "Мама мыла раму, а папа читал газету.\nВчера вечером шёл сильный дождь в городе.\n"
JAPANESE = "これは日本語の文章です。とても簡単です。\n明日は雨が降るでしょう。東京の天気。\n"
KOREAN = "이것은 한국어 문장입니다.\n내일은 비가 올 것입니다. 서울 날씨.\n"
CHINESE = "这是一个中文句子，非常简单。\n明天可能会下雨。北京的天气很好。\n"


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        (GERMAN, "utf-8", "UTF-8"),
        (GERMAN, "utf-8-sig", "UTF-8 with a byte order mark"),
        (GERMAN, "utf-16", "UTF-16 little-endian with a byte order mark"),
        (GERMAN, "utf-32", "UTF-32 little-endian with a byte order mark"),
        (GERMAN, "utf-16-le", "UTF-16 little-endian"),
        (GERMAN, "utf-16-be", "UTF-16 big-endian"),
        (RUSSIAN, "utf-16-le", "UTF-16 little-endian"),
        (CHINESE, "utf-16-le", "UTF-16 little-endian"),
        (KOREAN, "utf-16-be", "UTF-16 big-endian"),
        (GERMAN, "cp1252", "Windows-1252"),
        (FRENCH, "latin-1", "Windows-1252"),
        (POLISH, "cp1250", "Windows-1250"),
        (RUSSIAN, "cp1251", "Windows-1251"),
        (RUSSIAN, "koi8-r", "KOI8-R"),
        (JAPANESE, "shift_jis", "Shift JIS"),
        (JAPANESE, "euc_jp", "EUC-JP"),
        (KOREAN, "euc_kr", "EUC-KR"),
        (CHINESE, "gb2312", "GB18030"),
    ],
)
def test_an_encoding_is_found_and_named(tmp_path: Path, text: str, codec: str, name: str) -> None:
    corpus = read_corpus(write(tmp_path, "a.txt", text.encode(codec)))
    assert texts(corpus) == text.split("\n")[:-1]
    assert corpus.report.encoding == name
    assert corpus.report.undecodable == 0


def test_one_letter_of_another_encoding_after_megabytes_of_ascii_is_still_read(tmp_path: Path) -> None:
    content = b"".join(b"plain line number %d\n" % number for number in range(80_000)) + "Größe\n".encode(
        "cp1252"
    )
    assert len(content) > 1 << 20
    corpus = read_corpus(write(tmp_path, "a.txt", content))
    assert texts(corpus)[-1] == "Größe"
    assert corpus.report.kept == 80_001


def test_a_few_broken_bytes_in_utf8_are_counted_and_the_rest_stays_right(tmp_path: Path) -> None:
    content = GERMAN.encode() * 5 + b"broken \xff here\xfe\n"
    corpus = read_corpus(write(tmp_path, "a.txt", content))
    assert corpus.report.encoding == "UTF-8 with broken bytes"
    assert corpus.report.undecodable == 2
    assert "broken \ufffd here\ufffd" in texts(corpus)
    assert "Die Größe überrascht die Schüler." in texts(corpus)
    assert any("2 characters could not be decoded" in said for said in corpus.report.sentences())


def test_an_encoding_can_be_named_and_an_unknown_name_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", RUSSIAN.encode("cp866"))
    assert texts(read_corpus(path, ReadOptions(encoding="cp866"))) == RUSSIAN.split("\n")[:-1]
    for name in ("utf-9", "hex"):
        with pytest.raises(ValueError, match=f"{name}' is not the name of a text encoding"):
            read_corpus(path, ReadOptions(encoding=name))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems_give_the_same_lines(tmp_path: Path, end: str) -> None:
    corpus = read_corpus(write(tmp_path, "a.txt", end.join(["one", "", "two", "three"])))
    assert texts(corpus) == ["one", "two", "three"]
    assert corpus.table["line"].to_pylist() == [1, 3, 4]
    assert (corpus.report.lines, corpus.report.blank) == (4, 1)


def test_only_line_feeds_end_lines_when_there_are_any(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path, "a.txt", "one\rhalf\u2028third\x0bfourth\x85fifth\ntwo\n"))
    assert texts(corpus) == ["one half third fourth fifth", "two"]


def test_a_line_end_cut_by_a_block_is_one_line_end(tmp_path: Path) -> None:
    line = "x" * 1023
    content = "\r\n".join([line[: 1022 - number % 3] + str(number % 10) for number in range(3000)])
    corpus = read_corpus(write(tmp_path, "a.txt", content))
    assert corpus.report.lines == 3000 and corpus.report.blank == 0


def test_nul_bytes_and_controls_vanish(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path, "a.txt", b"a\0b c\x07d\n\0\n" + b"plain text line\n" * 20))
    assert texts(corpus) == ["ab c d", "plain text line"]
    assert corpus.report.blank == 1


def test_text_is_normalised_before_duplicates_are_looked_for() -> None:
    composed, apart = "caf\u00e9 noir", "cafe\u0301\u00a0\u3000 noir\u200b "
    corpus = from_text(f"{composed}\n{apart}\n\u200b\u00a0\n{composed.upper()}")
    assert texts(corpus) == [composed, composed.upper()]
    assert (corpus.report.duplicate, corpus.report.blank) == (1, 1)


def test_joiners_that_spell_something_stay() -> None:
    family, persian = (
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    )
    assert normalise(f"\ufeff{family}\u200d ") == family
    assert normalise(persian) == persian
    assert normalise("soft\u00adhyphen \u202eturned\u202c") == "softhyphen turned"


def test_lengths_are_limits_and_counted() -> None:
    corpus = from_text(
        "one\none two\none two three\n" + "x" * 50, ReadOptions(min_words=2, max_characters=20)
    )
    assert texts(corpus) == ["one two", "one two three"]
    assert (corpus.report.too_short, corpus.report.too_long) == (1, 1)


def test_words_are_counted_in_scripts_without_spaces() -> None:
    assert count_words("two words") == 2
    assert count_words("世界人权宣言") == 6
    assert count_words("BERT は速い") == 4
    assert 3 <= count_words("ปฏิญญาสากลว่าด้วย") <= 6


def test_paragraphs_are_split_into_sentences_and_those_are_counted() -> None:
    text = "Dr. Smith went home. He slept well.\n\nHe slept well. Then he rose."
    corpus = from_text(text, ReadOptions(split_sentences=True))
    assert texts(corpus) == ["Dr. Smith went home.", "He slept well.", "Then he rose."]
    assert corpus.table["line"].to_pylist() == [1, 1, 3]
    assert (corpus.report.lines, corpus.report.duplicate, corpus.report.blank) == (5, 1, 1)


def test_pairs_become_a_corpus_and_a_table_survives_its_file(tmp_path: Path) -> None:
    corpus = from_pairs([("one text", "a"), ("two texts", None), ("one text", "b")], "an example")
    assert texts(corpus) == ["one text", "two texts"] and labels(corpus) == ["a", None]
    write_parquet(corpus.table, tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet") == corpus.table
    pq.write_table(pa.table({"words": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="not a corpus"):
        read_parquet(tmp_path / "b.parquet")


def test_the_report_speaks_in_sentences(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "text,topic\na cat sat,x\na cat sat,x\na dog ran,y\n")
    assert read_corpus(path, ReadOptions(label_column="topic")).report.sentences() == [
        "Table with commas, in UTF-8.",
        "2 columns; sentences from 'text', labels from 'topic'.",
        "3 rows read, 2 kept.",
        "1 row was a duplicate of an earlier one.",
    ]


def test_a_hundred_thousand_lines_are_all_there_in_order(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "".join(f"line number {n % 90_000} é\n" for n in range(120_000)))
    corpus = read_corpus(path)
    assert corpus.table.column("sentence").num_chunks == 2
    assert (corpus.report.lines, corpus.report.kept, corpus.report.duplicate) == (120_000, 90_000, 30_000)
    assert corpus.table["line"].to_pylist() == list(range(1, 90_001))


OTHERS = {
    "cp866": RUSSIAN,
    "iso8859_5": RUSSIAN,
    "iso8859_2": POLISH,
    "cp1253": "Σήμερα ο καιρός είναι καλός και πάμε στο πάρκο.\nΔιάβασε το βιβλίο σε ένα βράδυ.\n",
    "cp1254": "Bugün hava çok güzel, parka yürüyüşe gidiyoruz.\nÇocuk bahçede şişman bir kedi gördü, ağaç yeşildi.\n",
    "cp1255": "היום מזג האוויר יפה ואנחנו הולכים לפארק.\nאיפה הספרייה בבקשה?\n",
    "cp1256": "الطقس جميل اليوم ونحن ذاهبون إلى الحديقة.\nأين المكتبة من فضلك؟\n",
    "cp874": "วันนี้อากาศดีมากเราไปเดินเล่นที่สวน\nห้องสมุดอยู่ที่ไหนครับ\n",
    "big5": "今天天氣很好，我們去公園散步。\n請問圖書館在哪裡？他昨天買了一本書。\n",
    "iso2022_jp": JAPANESE,
    "mac_roman": GERMAN,
}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", OTHERS)
def test_rarer_encodings_give_the_same_text(tmp_path: Path, codec: str, end: str) -> None:
    data = OTHERS[codec].replace("\n", end).encode(codec)
    assert texts(read_corpus(write(tmp_path, "a.txt", data))) == OTHERS[codec].split("\n")[:-1]


def test_duplicates_are_known_across_chunks_and_the_first_label_stays(tmp_path: Path) -> None:
    rows = [f"sentence number {i % 60_000}\t{i // 60_000}" for i in range(150_000)]
    path = write(tmp_path, "a.tsv", "\n".join(["text\tlabel", *rows]))
    corpus = read_corpus(path, ReadOptions(text_column="text", label_column="label"))
    assert (corpus.report.kept, corpus.report.duplicate) == (60_000, 90_000)
    assert set(labels(corpus)) == {"0"}


@pytest.mark.slow
def test_a_million_lines_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(
            f"line {i} of a long file, with the words that a line has\n" for i in range(1_000_000)
        )
    code = (
        "import resource, sys, sentencex, charset_normalizer, pathlib\n"
        "from tsdae_core.corpus import read_corpus\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "before = peak()\n"
        "corpus = read_corpus(pathlib.Path(sys.argv[1]))\n"
        "print(corpus.report.kept, peak() - before, corpus.table.nbytes >> 20)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    kept, more, table = map(int, done.stdout.split())
    assert kept == 1_000_000
    assert more < 2 * table + 150, f"{more} MiB more at the peak for a table of {table} MiB"

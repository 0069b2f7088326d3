"""Entities are the names in a text; capitals that say nothing make none."""

import pytest

from fanfuse_classifier.domain.shape import classify_shape


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("Alice Smith and Acme Corp", ("Alice Smith", "Acme Corp")),
        ("Alice and Bob", ("Alice", "Bob")),
        ("Who is the CEO of Acme?", ("CEO", "Acme")),
        ("What is RAG?", ("RAG",)),
        ("was Leonardo da Vinci born in Vinci", ("Leonardo da Vinci", "Vinci")),
        ("the University of California in the U.S. today", ("University of California", "U.S.")),
        ("films by Dr. Ann O'Brien", ("Dr. Ann O'Brien",)),
        ("Procter & Gamble results", ("Procter & Gamble",)),
        ('songs like "Thinking Out Loud"', ("Thinking Out Loud",)),
        ("who wrote 《红楼梦》", ("红楼梦",)),
        ("how does pathlib.Path join", ("pathlib.Path",)),
        ("where does Алиса Смит live", ("Алиса Смит",)),
        # the first word of a sentence
        ("Statins increase blood cholesterol. Nobody knows why.", ()),
        ("Earnings grew; what did Acme say?", ("Acme",)),
        # function words and the pronoun
        ("can I cancel", ()),
        ("The Beatles", ("Beatles",)),
        # capitals that say nothing
        ("WHAT IS RAG", ()),
        ("Cancer Risk From CT Scan Radiation", ("CT",)),
        ("Bitcoin Cost Basis Purchases", ()),
        ("Wie kann ich mein Passwort zurücksetzen", ()),
        ("Wo wohnt Angela Merkel", ("Angela Merkel",)),
        ("Preventing Loss With Your Diet", ()),
        ("J. R. R. Tolkien, C. S. Lewis", ("J. R. R. Tolkien", "C. S. Lewis")),
        ("Apple Inc. vs. Samsung Electronics Co., Ltd.", ("Apple Inc", "Samsung Electronics Co., Ltd")),
        ("Brown v. Board of Education", ("Brown", "Board of Education")),
        ("Krankenkasse Zusatzbeitrag", ()),
        ("der Vertrag mit der Deutsche Bank AG", ("Deutsche Bank AG",)),
        # scripts without capitals: Latin names stand out
        ("Tesla 与 BYD 的关系", ("Tesla", "BYD")),
        ("OpenAI和Microsoft的合作", ("OpenAI", "Microsoft")),
        ("Steve Jobs と Tim Cook の関係", ("Steve Jobs", "Tim Cook")),
        ("العلاقة بين Google و Apple", ("Google", "Apple")),
        # … and what a word beside them marks
        ("《三体》的作者刘慈欣", ("三体", "刘慈欣")),
        ("张伟先生和李娜女士", ("张伟", "李娜")),
        ("王教授在复旦大学", ("王教授", "复旦大学")),
        ("欧阳娜娜小姐", ("欧阳娜娜",)),
        ("艾萨克·牛顿和戈特弗里德·莱布尼茨", ("艾萨克·牛顿", "戈特弗里德·莱布尼茨")),
        ("阿里巴巴集团和腾讯有限公司", ("阿里巴巴集团", "腾讯有限公司")),
        ("山田太郎さんと佐藤花子さん", ("山田太郎", "佐藤花子")),
        ("トヨタ自動車株式会社の社長", ("トヨタ自動車株式会社",)),
        ("『ノルウェイの森』の著者", ("ノルウェイの森",)),
        ("김철수 씨와 이영희 씨", ("김철수", "이영희")),
        ("서울대학교와 연세대학교", ("서울대학교", "연세대학교")),
        ("الدكتور أحمد زويل وجامعة القاهرة", ("الدكتور أحمد زويل", "جامعة القاهرة")),
        ("श्री नरेंद्र मोदी और डॉ. मनमोहन सिंह", ("श्री नरेंद्र मोदी", "डॉ. मनमोहन सिंह")),
        # what kind of thing, or which of several, is no name
        ("哪家公司好", ()),
        ("商业银行和保险公司的区别", ()),
        ("物流有限公司", ()),
        ("患者さんの権利", ()),
        ("国立大学と私立大学", ()),
        ("시중은행 금리", ()),
        ("شركة التأمين", ()),
        # lower-case names: nothing marks them
        ("alice smith and acme corp", ()),
        ("barack obama", ()),
        ("刘慈欣", ()),
        # lower-case quotes, identifiers
        ('the "buy high, sell low" problem', ()),
        ("status of TRAVEL-2026-01", ()),
    ],
)
def test_entities(text, entities):
    assert classify_shape(text).entities == entities


def test_repeats_are_named_once():
    assert classify_shape("did Acme buy Acme from Globex").entities == ("Acme", "Globex")


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('a "b c" d', ("b c",)),
        ("“smart quotes” here", ("smart quotes",)),
        ("„Gänsefüßchen“ und «guillemets»", ("Gänsefüßchen", "guillemets")),
        ("it's Acme's 'old' bank", ("old",)),
        ("『引用』と「括弧」", ("引用", "括弧")),
        ("‚einfach‘, ‹simple› und ”svenska”", ("einfach", "simple", "svenska")),
        ("›umgekehrt‹ und »doppelt«", ("umgekehrt", "doppelt")),
        ("《书名》与〈篇名〉", ("书名", "篇名")),
        ("〝引號〞和﹁直排﹂", ("引號", "直排")),
        ("＂full width＂", ("full width",)),
        ("call `pd.merge(a, b)` twice", ("pd.merge(a, b)",)),
        ('a 5" and a 7" screen', ()),
        ("the users' and the admins' rights", ()),
        ('"  inner   blanks "', ("inner blanks",)),
        ('an "unclosed quote', ()),
        ('empty "" and "..."', ()),
    ],
)
def test_phrases(text, phrases):
    assert classify_shape(text).phrases == phrases

"""Small closed word lists: function words, what makes a clause, and what opens or marks a question, per language.

In: a language code or None. Out: sets of folded words. Only grammar, no topic words. A language that is not here is
judged by length alone; None counts as English.
"""

import re
from functools import lru_cache
from typing import Final

from fanfuse_classifier.domain.text import fold

Words = frozenset[str]


def word_set(words: str) -> Words:
    """The words of a string, folded as the words of a text are."""
    return frozenset(fold(words).split())


_FUNCTION_WORDS: Final = {
    "en": "a an the this that these those i me my we us our you your he him his she her it its they them their of "
    "in on at to for from with without by about into onto over under between among through during before "
    "after above below against within as than then and or but nor so if because while although whether not no "
    "is are was were be been being am do does did done have has had having can could should would will shall "
    "may might must there here when where which who whom whose what why how all any some each every both "
    "either neither more most such only also very too just one s t don doesn isn aren won can cannot per via "
    "used using use get up out off down",
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ist sind war "
    "waren sein hat haben hatte wird werden wurde kann können muss soll ich du er sie es wir ihr mich mir "
    "dich dir sich mein meine meinen meiner dein sein unser in im an am auf aus bei mit nach von vom zu zum "
    "zur für über unter durch gegen ohne um als wie wenn dass ob weil auch nur noch schon hier da man",
    "fr": "le la les l un une des du de d et ou mais ne pas est sont était être a ont avoir je j tu il elle on nous "
    "vous ils elles me m te se s mon ma mes ton son sa ses notre votre leur ce cet cette ces qui que qu dont "
    "où dans sur sous avec sans pour par en au aux à y comme si plus quand",
    "es": "el la los las un una unos unas y o pero no es son era ser está están ha han haber yo tú él ella nosotros "
    "ellos me te se mi mis tu su sus nuestro este esta estos que de del en con sin por para a al como si más "
    "cuando lo le les hay",
    "pt": "o a os as um uma uns umas e ou mas não é são era ser está estão tem têm eu você ele ela nós eles me se "
    "meu minha seu sua este esta que de do da dos das em no na nos nas com sem por para ao à como se mais "
    "quando há",
    "it": "il lo la i gli le l un uno una e o ma non è sono era essere ha hanno ho io tu lui lei noi voi loro mi ti "
    "si mio mia suo sua questo questa che di del della dei delle a al alla in nel nella con senza per da dal "
    "come se più quando",
    "nl": "de het een en of maar niet geen is zijn was waren wordt worden heeft hebben kan kunnen moet ik je jij u "
    "hij zij ze wij we mijn uw dit dat deze die in op aan van voor met zonder bij naar uit over door om als "
    "dan er ook te",
    "sv": "en ett den det de och eller men inte är var vara har hade kan ska jag du han hon vi ni min mitt mina din "
    "i på av för med utan till från om som att när så denna detta",
    "da": "en et den det de og eller men ikke er var være har havde kan skal jeg du han hun vi i min mit mine din "
    "på af for med uden til fra om som at når så denne dette",
    "no": "en et ei den det de og eller men ikke er var være har hadde kan skal jeg du han hun vi min mitt mine din "
    "i på av for med uten til fra om som at når så denne dette",
    "pl": "i oraz lub ale nie jest są był być ma mają ja ty on ona my mój moja moje mi się ten ta to te że w we na "
    "z ze do od dla o po przez przed bez za jak czy co który która które gdy",
    "ru": "и или но не это есть был была были быть я ты он она мы вы они мой моя мне меня его её их что как в во на "
    "с со к ко от до для о об по из за при без у если когда который которая ли бы же так",
    "uk": "і й та або але не це є був була були бути я ти він вона ми ви вони мій моя мені мене його її їх що як в "
    "у на з із до від для про по за при без якщо коли який яка чи б ж",
}  # fmt: skip

_SMALL_WORDS: Final = {
    "ar": "و في من على إلى الى عن مع بين هذا هذه ذلك تلك التي الذي كان كانت هو هي هم أن ان أو او ثم لا لم لن قد كل "
    "بعد قبل عند حتى أي أنا نحن ما يا إذا هناك ليس",
    "fa": "و در از به با را که این آن است بود شد برای تا یا هم هر بر می ها های یک ای",
    "hi": "और का की के को में से पर है हैं था थी थे ने यह वह ये वे एक या भी तो ही कि जो मैं हम आप तुम मेरा मेरी मेरे अपना अपनी "
    "अपने हो होता होती होते लिए साथ कर करने सकता सकती सकते नहीं हूँ",
    "el": "ο η το οι τα του της των τον την και ή σε στο στη στην από για με που να είναι ένα ένας μια δεν θα μου σου",
    "he": "של את על עם אל מן או גם כי זה זו הוא היא הם אני לא יש אין אבל אם כל",
    "tr": "ve veya ile bir bu şu o için de da ki mi mı mu mü gibi çok daha ama en ne",
}  # fmt: skip
"""Function words of languages that hang most of their grammar on other words: enough to tell a name from what stands
around it, too few to measure a sentence."""

_CLAUSE_WORDS: Final = {
    "en": "i we you he she it they am is are was were be been has have had do does did don doesn can cannot could will "
    "would should must",
    "de": "ich du er sie es wir ihr man ist sind war waren hat haben hatte wird werden wurde kann können muss soll",
    "fr": "je j tu il elle on nous vous ils elles est sont était a ont peut",
    "es": "yo tú él ella nosotros ellos me es son era está están ha han hay",
    "pt": "eu você ele ela nós eles é são era está estão tem têm há",
    "it": "io tu lui lei noi voi loro mi è sono era ha hanno",
    "nl": "ik je jij u hij zij ze wij we is zijn was waren wordt heeft hebben kan kunnen moet",
    "sv": "jag du han hon vi är var har hade kan ska",
    "da": "jeg du han hun vi er var har havde kan skal",
    "no": "jeg du han hun vi er var har hadde kan skal",
    "pl": "ja ty on ona my jest są był ma mają się",
    "ru": "я ты он она мы вы они есть был была были",
    "uk": "я ти він вона ми ви вони є був була були",
}  # fmt: skip
"""Subject pronouns and finite auxiliaries: with one, some words are a clause and no mere phrase."""

_OPENERS: Final = {
    "en": "what why how when where who whom whose which is are was were do does did can could should would will "
    "shall may has have had am explain describe compare summarize summarise tell show list define discuss "
    "outline help please",
    "de": "was wie warum wieso weshalb wann wo wohin woher wer wen wem wessen welche welcher welches welchen ist "
    "sind kann können darf muss soll hat haben gibt wird werden erkläre vergleiche",
    "fr": "que quoi quel quelle quels quelles comment pourquoi quand où qui combien est sont peut puis dois faut "
    "explique comparer qu",
    "es": "qué que cómo como por cuándo cuando dónde donde quién quiénes cuál cuáles cuánto cuánta cuántos cuántas "
    "es son puedo puede hay explica",
    "pt": "o que como por porque quando onde quem qual quais quanto quanta quantos é são posso pode há explique",
    "it": "che cosa cos come perché quando dove chi qual quale quali quanto quanta quanti è sono posso può spiega",
    "nl": "wat hoe waarom wanneer waar wie welke welk hoeveel is zijn kan kunnen mag moet heeft",
    "sv": "vad hur varför när var vem vilka vilken vilket är kan ska har får",
    "da": "hvad hvordan hvorfor hvornår hvor hvem hvilke hvilken er kan skal har må",
    "no": "hva hvordan hvorfor når hvor hvem hvilke hvilken er kan skal har må",
    "fi": "mikä mitä miten miksi milloin missä kuka ketkä kuinka mitkä onko voiko",
    "pl": "co jak dlaczego kiedy gdzie kto czy jaki jaka jakie ile który czym",
    "cs": "co jak proč kdy kde kdo jaký jaká jaké kolik který je jsou",
    "hu": "mi mit hogyan miért mikor hol ki melyik mennyi hány",
    "ro": "ce cum de când unde cine care cât câți este sunt pot",
    "tr": "ne nasıl neden niçin niye kim nerede hangi kaç",
    "vi": "làm tại vì ai khi",
    "id": "apa apakah bagaimana mengapa kenapa kapan dimana siapa berapa",
    "ru": "что как почему зачем когда где кто какой какая какие какое сколько чем можно куда откуда",
    "uk": "що як чому навіщо коли де хто який яка які скільки чи",
    "bg": "какво как защо кога къде кой коя какъв колко",
    "el": "τι πώς πως γιατί πότε πού ποιος ποια ποιο πόσο",
    "he": "מה איך למה מדוע מתי איפה מי כמה האם",
    "ar": "ما ماذا كيف لماذا متى أين من هل كم أي",
    "fa": "چه چرا چگونه چطور کجا کی آیا چند",
    "hi": "क्या कैसे क्यों कब कहाँ कौन कितना",
}  # fmt: skip

_FACT_WORDS: Final = {
    "en": "who whom whose when where which",
    "de": "wer wen wem wessen wann wo welche welcher welches welchen",
    "fr": "qui quand où quel quelle quels quelles",
    "es": "quién quiénes cuándo dónde cuál cuáles",
    "pt": "quem quando onde qual quais",
    "it": "chi quando dove quale quali",
    "nl": "wie wanneer waar welke welk",
    "ru": "кто когда где какой какая какие какое куда откуда",
    "uk": "хто коли де який яка які",
    "ar": "من متى أين",
    "hi": "कौन कब कहाँ कहां किसने किसका किसकी",
}  # fmt: skip
"""Question words that ask for a person, a time, a place or one of several: a fact about something."""
_ADVICE_OPENERS: Final = word_set(
    "how why can could should would will shall may is are do does did was were has have had am explain describe "
    "compare summarize summarise define discuss outline"
)

_MARKERS: Final = {
    "tr": "nasıl neden nedir kimdir nerede mi mı mu mü",
    "vi": "gì sao nào đâu không",
    "hi": "क्या कैसे क्यों कब कहाँ कहां कौन कितना कितने किस",
    "ta": "என்ன எப்படி ஏன் எப்போது எங்கே யார்",
    "bn": "কি কী কেন কীভাবে কিভাবে কখন কোথায় কে",
    "te": "ఏమిటి ఎలా ఎందుకు ఎప్పుడు ఎక్కడ ఎవరు",
}  # fmt: skip
_PARTS: Final = {
    "zh": "什么 什麼 怎么 怎麼 怎样 怎樣 为什么 如何 吗 嗎 呢 哪 谁 誰 多少 几 幾 是否 能否 可否 为何 "
    "请问 請問 多久 多大 多长 怎办 帮我 幫我 告诉我 告訴我 解释一下 介绍一下 请解释 请说明",
    "ja": "何 なぜ どう どこ いつ 誰 だれ どの どれ ですか ますか とは でしょうか いくら 教えて 説明して",
    "ko": "무엇 뭐 뭔 왜 어떻게 언제 어디 누구 얼마 나요 까요 니까 인가 는가 가요 어떤 알려 설명해",
    "th": "อะไร ทำไม อย่างไร ยังไง เมื่อไหร่ เมื่อไร ที่ไหน ใคร เท่าไร หรือไม่ ไหม",
    "lo": "ຫຍັງ ແນວໃດ ຢ່າງໃດ ເປັນຫຍັງ ໃສ ໃຜ",
    "my": "ဘာ ဘယ် လား လဲ",
    "km": "អ្វី ដូចម្តេច ហេតុអ្វី ពេលណា ឯណា",
}  # fmt: skip
_PHRASES: Final = ("how to", "how do", "how does", "how can", "what is", "what are", "difference between")
_CLAUSE_PARTICLES: Final = {
    "zh": "了 是 把 被 没 沒 我 你 您 她 们 們 没有 沒有 不能 不会 不會 不要 不想 可以 应该 應該 需要 想要 "
    "必须 必須 已经 已經 正在 让 讓 也 就是 就会 就會 就要 都是 都有 还能 还是 还有 还要 還能 還是 還有 還要",
    "ja": "は が を です ます する した して ない",
    "th": "เป็น คือ ได้ จะ ให้",
}  # fmt: skip
"""Strings that make a clause in a script without blanks."""
_LINKS: Final = {
    "zh": "的 和 与 與 及 之 在 或 从 從 对 對",
    "ja": "の に で も へ と から まで や",
    "th": "ที่ ใน และ ของ",
}  # fmt: skip
"""Strings that only link nouns in a script without blanks."""

CODE_NAMES: Final = word_set(
    "python python3 javascript typescript golang kotlin scala haskell php sql mysql postgresql sqlite regex "
    "regexp json yaml numpy pandas django flask pytest pytorch tensorflow matplotlib sklearn asyncio stdlib "
    "c++ c# f# nodejs npm pip dockerfile makefile traceback stacktrace segfault stderr stdout malloc "
    "coroutine docstring dataclass api"
)
"""Languages and tools of programming whose names mean nothing else."""

_TABLES: Final[dict[str, dict[str, Words]]] = {
    name: {language: word_set(words) for language, words in table.items()}
    for name, table in (
        ("function", _FUNCTION_WORDS),
        ("small", _FUNCTION_WORDS | _SMALL_WORDS),
        ("clause", _CLAUSE_WORDS),
        ("opener", _OPENERS),
        ("fact", _FACT_WORDS),
        ("marker", _MARKERS),
        ("part", _PARTS),
        ("clause_particle", _CLAUSE_PARTICLES),
        ("link", _LINKS),
    )
}
_NONE: Final[Words] = frozenset()
_TOO_COMMON: Final = 4


def function_words(language: str | None) -> Words:
    """Words that only hold a sentence together; empty for a language without a full list."""
    return _TABLES["function"].get(language or "en", _NONE)


@lru_cache(maxsize=256)
def small_words(language: str | None) -> Words:
    """Words that are no part of what is asked about: function words and question words; English for an unknown one."""
    return _TABLES["small"].get(language or "en", _TABLES["small"]["en"]) | openers(language) | markers(language)


def clause_words(language: str | None) -> Words:
    """Words that only a clause has: subject pronouns, finite auxiliaries."""
    return _TABLES["clause"].get(language or "en", _NONE)


def openers(language: str | None) -> Words:
    """Words that make a question or a request when they come first."""
    return _TABLES["opener"].get(language or "en", _NONE)


def fact_words(language: str | None) -> Words:
    """Question words that ask for a fact about something."""
    return _TABLES["fact"].get(language or "en", _NONE)


def advice_openers() -> Words:
    """English words that open a question for advice, a reason or a yes, not for a fact."""
    return _ADVICE_OPENERS


def markers(language: str | None) -> Words:
    """Words that make a question wherever they stand."""
    return _TABLES["marker"].get(language or "en", _NONE)


def question_parts(language: str | None) -> Words:
    """Strings that make a question wherever they stand, inside a word too (unspaced and agglutinating scripts)."""
    return _TABLES["part"].get(language or "en", _NONE)


def clause_particles(language: str | None) -> Words:
    """Strings that make a clause in a script without blanks."""
    return _TABLES["clause_particle"].get(language or "en", _NONE)


def links(language: str | None) -> Words:
    """Strings that only link nouns in a script without blanks."""
    return _TABLES["link"].get(language or "en", _NONE)


@lru_cache(maxsize=256)
def grammar_of_runs(language: str | None) -> re.Pattern[str]:
    """What is no content in a run of a script without blanks: particles, links, question words."""
    parts = clause_particles(language) | links(language) | question_parts(language)
    return re.compile("|".join(sorted(map(re.escape, parts), key=lambda part: (-len(part), part))) or "(?!)")


def question_phrases() -> tuple[str, ...]:
    """English phrases that make a question wherever they stand."""
    return _PHRASES


def _speakers() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for language, words in _TABLES["function"].items():
        for word in words | _TABLES["opener"][language]:
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items() if len(languages) < _TOO_COMMON}


_SPEAKERS: Final = _speakers()


def languages_of_word(folded: str) -> tuple[str, ...]:
    """Languages with a full list that have this function word; none for a word that many share."""
    return _SPEAKERS.get(folded, ())

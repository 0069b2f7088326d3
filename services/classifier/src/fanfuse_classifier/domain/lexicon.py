"""Small closed word lists: function words, and what opens or marks a question, per language.

In: a language code or None. Out: sets of folded words. Only grammar, no topic words. A language that is not here is
judged by length alone; None counts as English.
"""

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

_MARKERS: Final = {
    "tr": "nasıl neden nedir kimdir nerede mi mı mu mü",
    "vi": "gì sao nào đâu không",
    "hi": "क्या कैसे क्यों कब कहाँ कहां कौन कितना कितने किस",
    "ta": "என்ன எப்படி ஏன் எப்போது எங்கே யார்",
    "bn": "কি কী কেন কীভাবে কিভাবে কখন কোথায় কে",
    "te": "ఏమిటి ఎలా ఎందుకు ఎప్పుడు ఎక్కడ ఎవరు",
}  # fmt: skip
_PARTS: Final = {
    "zh": "什么 什麼 怎么 怎麼 怎样 怎樣 为什么 如何 吗 嗎 呢 哪 谁 誰 多少 几 幾 是否 能否 可否 为何",
    "ja": "何 なぜ どう どこ いつ 誰 だれ どの どれ ですか ますか とは でしょうか いくら",
    "ko": "무엇 뭐 뭔 왜 어떻게 언제 어디 누구 얼마 나요 까요 니까 인가 는가",
    "th": "อะไร ทำไม อย่างไร ยังไง เมื่อไหร่ เมื่อไร ที่ไหน ใคร เท่าไร หรือไม่ ไหม",
    "lo": "ຫຍັງ ແນວໃດ ຢ່າງໃດ ເປັນຫຍັງ ໃສ ໃຜ",
    "my": "ဘာ ဘယ် လား လဲ",
    "km": "អ្វី ដូចម្តេច ហេតុអ្វី ពេលណា ឯណា",
}  # fmt: skip
_PHRASES: Final = ("how to", "how do", "how does", "how can", "what is", "what are", "difference between")
_PARTICLES: Final = {
    "zh": "的 了 是 在 和 把 被 对 對 与 與 从 會 会 有 我 你 他 要 不",
    "ja": "は が を に で の も へ と から まで です ます する した して",
    "th": "เป็น คือ ที่ ใน และ ของ ได้ จะ ให้",
}  # fmt: skip

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
        ("opener", _OPENERS),
        ("marker", _MARKERS),
        ("part", _PARTS),
        ("particle", _PARTICLES),
    )
}
_NONE: Final[Words] = frozenset()


def function_words(language: str | None) -> Words:
    """Words that only hold a sentence together; empty for a language without a list."""
    return _TABLES["function"].get(language or "en", _NONE)


def openers(language: str | None) -> Words:
    """Words that make a question or a request when they come first."""
    return _TABLES["opener"].get(language or "en", _NONE)


def markers(language: str | None) -> Words:
    """Words that make a question wherever they stand."""
    return _TABLES["marker"].get(language or "en", _NONE)


def question_parts(language: str | None) -> Words:
    """Strings that make a question wherever they stand, inside a word too (unspaced and agglutinating scripts)."""
    return _TABLES["part"].get(language or "en", _NONE)


def particles(language: str | None) -> Words:
    """Strings that hold a sentence together in a script without blanks."""
    return _TABLES["particle"].get(language or "en", _NONE)


def question_phrases() -> tuple[str, ...]:
    """English phrases that make a question wherever they stand."""
    return _PHRASES

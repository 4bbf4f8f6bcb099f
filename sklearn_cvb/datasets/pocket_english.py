"""The text of a pocket grammar of English, and of its closed and most frequent words.

A line of the grammar is ``left-hand sides : weight right-hand side``, with the head marked by a
star. Symbols are a label and, after a slash or hyphen, what agreement and valence need: ``/s`` and
``/p`` number, ``/o`` object, ``/b`` bare, ``/i``, ``/t``, ``/d``, ``/c``, ``/v`` verbs with no
object, one, two, a clause, an infinitive. ``@`` stands for each verb form in turn. Words are listed
by falling frequency; those of ``pocket_lexicon.py`` follow them.
"""

VERB_FORMS = ("VB", "VBZ", "VBP", "VBP-1", "VBD", "VBD-p", "VBN", "VBG")

GRAMMAR = """
TOP : 60 *S ./s
TOP : 1 *S ./e
TOP : 2 *SQ ./q
TOP : 1 *SBARQ ./q
TOP : 13 *S , CC S ./s
TOP : 4 *S : S ./s
TOP : 7 ADVP , *S ./s
TOP : 10 PP , *S ./s
TOP : 4 *S , VP/VBG ./s
TOP : 9 SBAR/when , *S ./s
TOP : 8 S , NP/s *VP/said ./s
TOP : 8 `` S , '' NP/s *VP/said ./s
VP/said : 2 *VBD/c
VP/said : 1 *VBD/c NP/time
S : 34 NP/s *VP/VBD
S : 22 NP/s *VP/VBZ
S : 7 NP/s *VP/MD
S : 12 NP/p *VP/VBD-p
S : 12 NP/p *VP/VBP
S : 3 NP/p *VP/MD
S : 1 PRP/1 *VP/VBD
S : 1 PRP/1 *VP/VBP-1
S : 1 PRP/1 *VP/MD
S : 1 EX *VP/there-s
S : 1 EX *VP/there-p
VP/there-s : 1 *VBZ/be NP/s PP
VP/there-s : 1 *VBD/be NP/s PP
VP/there-p : 1 *VBP/be NP/p PP
VP/there-p : 1 *VBD-p/be NP/p PP
SQ : 3 *MD NP/s VP/VB
SQ : 3 *VBZ/do NP/s VP/VB
SQ : 2 *VBP/do NP/p VP/VB
SQ : 3 *VBD/do NP/s VP/VB
SBARQ : 4 WRB *SQ
SBARQ : 1 WP/q *VP/VBD
SBARQ : 1 WP/q *VP/VBZ
SBARQ : 1 WDT/q NN *VP/VBD
VP/@ : 5 *@/i
VP/@ : 22 *@/i PP
VP/@ : 7 *@/i ADVP
VP/@ : 2 *@/i PRT
VP/@ : 28 *@/t NP/o
VP/@ : 40 *@/t NP/o PP
VP/@ : 5 *@/t NP/o NP/time
VP/@ : 2 *@/i NP/time
VP/@ : 9 *@/t NP/o ADVP
VP/@ : 2 *@/t PRT NP/o
VP/@ : 1 *@/t NP/o PRT
VP/@ : 3 *@/d NP/o NP/o
VP/@ : 3 *@/d NP/o PP/to
VP/@ : 12 *@/c SBAR/that
VP/@ : 18 *@/v VP/to
VP/@ : 8 *@/be NP/o
VP/@ : 8 *@/be ADJP
VP/@ : 3 *@/be PP
VP/@ : 16 *@/be VP/pass
VP/@ : 3 *@/t NP/o SBAR/when
VP/@ : 18 ADVP/often *VP/@
VP/@ : 9 *VP/@ CC VP/@
VP/VBZ : 6 *VBZ/be VP/VBG
VP/VBD : 4 *VBD/be VP/VBG
VP/VBP : 6 *VBP/be VP/VBG
VP/VBP-1 : 6 *VBP-1/be VP/VBG
VP/VBD-p : 4 *VBD-p/be VP/VBG
VP/VBZ : 7 *VBZ/have VP/VBN
VP/VBD : 6 *VBD/have VP/VBN
VP/VBP : 7 *VBP/have VP/VBN
VP/VBP-1 : 7 *VBP-1/have VP/VBN
VP/VBD-p : 6 *VBD-p/have VP/VBN
VP/VBZ : 3 *VBZ/do RB/not VP/VB
VP/VBD : 3 *VBD/do RB/not VP/VB
VP/VBP : 3 *VBP/do RB/not VP/VB
VP/VBP-1 : 3 *VBP-1/do RB/not VP/VB
VP/VBD-p : 3 *VBD-p/do RB/not VP/VB
VP/VB : 3 *VB/have VP/VBN
VP/MD : 9 *MD VP/VB
VP/MD : 1 *MD RB/not-full VP/VB
VP/to : 1 *TO VP/VB
VP/pass : 3 *VBN/t
VP/pass : 5 *VBN/t PP/by
VP/pass : 8 *VBN/t PP
VP/pass : 1 *VBN/t PRT
VP/z : 1 *VBZ/t
VP/d : 1 *VBD/t
VP/q : 1 *VBP/t
NP/s NP/o NP/bs : 17 DT/s *NN
NP/s NP/o NP/bs : 3 DT/x *NN
NP/s NP/o NP/bs : 18 DT/s JJ *NN
NP/s NP/o NP/bs : 2 DT/s JJ JJ *NN
NP/s NP/o NP/bs : 2 DT/s JJ , JJ *NN
NP/s NP/o NP/bs : 1 DT/s JJ CC JJ *NN
NP/s NP/o NP/bs : 7 DT/s NN *NN
NP/s NP/o NP/bs : 4 DT/s JJ NN *NN
NP/s NP/o NP/bs : 6 DT/s NNP *NN
NP/s NP/o NP/bs : 1 DT/the JJS *NN
NP/s NP/o NP/bs : 1 DT/the RBS JJ *NN
NP/s NP/o NP/bs : 6 PRP$ *NN
NP/s NP/o NP/bs : 2 PRP$ JJ *NN
NP/s NP/o NP/bs : 4 NP/pos *NN
NP/s NP/o NP/bs : 2 NP/pos JJ *NN
NP/s NP/o NP/bs : 9 *NN/mass
NP/s NP/o NP/bs : 5 JJ *NN/mass
NP/s NP/o NP/bs : 4 NN *NN/mass
NP/s NP/o : 38 *NP/name
NP/s : 9 *NP/name , NP/bs ,
NP/s : 20 *PRP/s
NP/p : 24 *PRP/p
NP/o : 7 *PRP/o
NP/s NP/o : 2 *DT/pron
NP/s NP/o : 50 *NP/bs PP
NP/s NP/o : 4 *NP/bs SBAR/rs
NP/s : 6 *NP/bs , SBAR/rs ,
NP/s NP/o : 5 *NP/bs VP/pass
NP/s NP/o : 4 *NP/bs VP/VBG
NP/p NP/o NP/bp : 9 DT/p *NNS
NP/p NP/o NP/bp : 12 *NNS
NP/p NP/o NP/bp : 10 JJ *NNS
NP/p NP/o NP/bp : 6 NN *NNS
NP/p NP/o NP/bp : 3 JJ NN *NNS
NP/p NP/o NP/bp : 5 NNS CC *NNS
NP/p NP/o NP/bp : 2 NNP *NNS
NP/p NP/o NP/bp : 9 CD/p *NNS
NP/p NP/o NP/bp : 2 DT/p CD/p *NNS
NP/p NP/o NP/bp : 3 PRP$ *NNS
NP/p NP/o NP/bp : 1 PDT DT/all *NNS
NP/p NP/o NP/bp : 3 NP/pos *NNS
NP/p NP/o NP/bp : 1 *NNPS
NP/p NP/o NP/bp : 1 DT/the *NNPS
NP/p NP/o : 24 *NP/bp PP
NP/p NP/o : 2 *NP/bp SBAR/rp
NP/p NP/o : 4 *NP/bp VP/pass
NP/p NP/o : 2 *NP/bp VP/VBG
NP/p NP/o : 14 *NP/s CC NP/o
NP/p NP/o : 3 *NP/s , NP/o CC NP/o
NP/o : 1 *JJR NNS
NP/o : 1 *CD
NP/o : 2 RB/about CD/amount *NN/percent
NP/o : 10 $ CD/amount *CD/many
NP/o : 2 $ *CD/amount
NP/o : 10 CD/amount *NN/percent
NP/name : 8 NNP/title *NNP/last
NP/name : 4 NNP/first *NNP/last
NP/name : 2 NNP/first NNP/initial *NNP/last
NP/name : 10 *NNP
NP/name : 4 *NNP/company
NP/name : 6 NNP/company *NNP/incorporated
NP/name : 5 DT/the NNP/of *NNP/organization
NP/name : 3 NNP/of *NNP/organization
NP/name : 2 NNP/place *NNP/locality
NP/name : 2 *NNP/organization IN/of NNP/place
NP/time : 2 DT/this *NN/time
NP/time : 4 JJ/last *NN/time
NP/time : 3 *NNP/day
NP/time : 2 NNP/month *CD/date
NP/time : 3 *NN/yesterday
NP/pos : 2 DT/s *NN POS
NP/pos : 4 *NP/name POS
SBAR/rs SBAR/rp : 2 *WDT S/gap
SBAR/rs SBAR/rp : 1 *S/gap
SBAR/rs : 2 *WDT VP/VBZ
SBAR/rs : 2 *WDT VP/VBD
SBAR/rs : 1 *WP VP/VBD
SBAR/rs : 1 WP$ NN *VP/VBD
SBAR/rp : 2 *WDT VP/VBP
SBAR/rp : 2 *WDT VP/VBD-p
SBAR/rp : 1 *WP VP/MD
S/gap : 3 NP/s *VP/d
S/gap : 2 NP/s *VP/z
S/gap : 2 NP/p *VP/d
S/gap : 1 NP/p *VP/q
SBAR/that : 3 *IN/that S
SBAR/that : 1 *S
SBAR/that : 1 *WRB S
SBAR/when : 4 *IN/when S
SBAR/when : 1 *WRB S
ADJP : 8 *JJ
ADJP : 4 RB/very *JJ
ADJP : 2 *JJR PP/than
ADJP : 1 RBR *JJ
ADJP : 1 *JJ CC JJ
ADJP : 1 *JJ PP
ADVP : 5 *RB
ADVP : 1 RB/very *RB
ADVP : 1 *RBR
ADVP/often : 1 *RB/often
PRT : 1 *RP
PP : 60 *IN NP/o
PP : 40 *IN/of NP/o
PP : 5 *IN/in CD/year
PP : 3 *IN/in NNP/month
PP : 6 *IN/in NP/name
PP : 14 *TO NP/o
PP : 8 *IN/for VP/VBG
PP/to : 1 *TO NP/o
PP/by : 1 *IN/by NP/o
PP/than : 1 *IN/than NP/o
"""

VERBS = """
say says said said saying : c ; make makes made made making : t
see sees saw seen seeing : t c ; think thinks thought thought thinking : c i
want wants wanted wanted wanting : v t ; give gives gave given giving : d
find finds found found finding : t ; like likes liked liked liking : t v
know knows knew known knowing : t c ; take takes took taken taking : t
work works worked worked working : i ; play plays played played playing : i t
need needs needed needed needing : t v ; run runs ran run running : i t
walk walks walked walked walking : i t ; leave leaves left left leaving : t i
watch watches watched watched watching : t ; hope hopes hoped hoped hoping : c v
tell tells told told telling : d ; show shows showed shown showing : d c
call calls called called calling : t ; help helps helped helped helping : t
love loves loved loved loving : t ; start starts started started starting : i t v
try tries tried tried trying : v t ; build builds built built building : t
send sends sent sent sending : d ; live lives lived lived living : i
open opens opened opened opening : t i ; close closes closed closed closing : t i
hear hears heard heard hearing : t c ; keep keeps kept kept keeping : t
hold holds held held holding : t ; lead leads led led leading : t i
report reports reported reported reporting : c t ; plan plans planned planned planning : v t
offer offers offered offered offering : d ; paint paints painted painted painting : t
write writes wrote written writing : t i ; read reads read read reading : t i
cut cuts cut cut cutting : t ; put puts put put putting : t
set sets set set setting : t ; change changes changed changed changing : t i
turn turns turned turned turning : i t ; look looks looked looked looking : i
talk talks talked talked talking : i ; visit visits visited visited visiting : t
answer answers answered answered answering : t ; promise promises promised promised promising : v d
fish fishes fished fished fishing : i ; book books booked booked booking : t
park parks parked parked parking : t ; clean cleans cleaned cleaned cleaning : t
light lights lit lit lighting : t ; duck ducks ducked ducked ducking : i
can cans canned canned canning : t ; bear bears bore borne bearing : t
fly flies flew flown flying : i ; hand hands handed handed handing : d
back backs backed backed backing : t ; fall falls fell fallen falling : i
feel feels felt felt feeling : t c ; lose loses lost lost losing : t
break breaks broke broken breaking : t i ; sleep sleeps slept slept sleeping : i
drink drinks drank drunk drinking : t ; dance dances danced danced dancing : i
rest rests rested rested resting : i ; rise rises rose risen rising : i
ring rings rang rung ringing : i ; train trains trained trained training : t
water waters watered watered watering : t ; face faces faced faced facing : t
name names named named naming : t ; point points pointed pointed pointing : i
rock rocks rocked rocked rocking : t ; man mans manned manned manning : t
house houses housed housed housing : t ; time times timed timed timing : t
dog dogs dogged dogged dogging : t ; ship ships shipped shipped shipping : t
tire tires tired tired tiring : i t
"""

AUXILIARIES = """
be is are am was were been being : be
have has have have had had had having : have
do does do do did did done doing : do
"""

WORDS = """
NN: work play man light watch house water run time dog can day book saw fish walk park back show
  help way door car hand friend letter plan boat train table report call teacher garden river
  change duck left bear lead round close right well past present second kind cold fine building
  meeting painting feeling writing bank bird cat child cook city cut dance doctor drink face fall
  farmer field fire flower fly game glass hill hope horse king lake leaf look love market match
  morning mouth music name need night one offer paper point promise queen reading rest ring road
  rock rose school set ship sleep spring start stone story street talk thought tire town tree turn
  village visit wall will window winter woman wood answer half mine open clean might must rise
  still like
NNS: works men plays books people walks watches days lights fish parks calls friends dogs children
  ducks houses cans saws letters plans boats trains shows reports changes hands leaves flies women
  birds banks cats cooks cuts dances doctors drinks faces falls farmers fields fires flowers games
  glasses hills hopes horses lakes looks loves leads backs bears names needs nights offers papers
  points promises rings roads rocks roses runs schools sets ships stones stories streets talks
  teachers thoughts tires towns trees turns villages visits walls windows woods answers buildings
  meetings paintings feelings starts rests helps rises
NN/percent: %
NN/time: week year month quarter time day morning season
NN/yesterday: yesterday today tomorrow tonight
PRP/s: he it she
PRP/p: they we you
PRP/o: her it him them me us you
PRP/1: I
PRP$: her his their my your its our
POS: 's
DT/s: the a that this
DT/x: every no some each another any
DT/p: the these those some all no both any
DT/the: the
DT/this: this that every each
DT/all: the these those
DT/pron: that this all each another
PDT: all half both
JJ: old light good close little open clean new right past big long fast cold kind young early late
  fine round present hard white black red green quiet happy back second left tired lost broken
  well poor rich dark deep strong small large own first last next whole still very better fair
  warm dry even slow only such painted closed like used known promising leading working set
JJ/last: last next past
JJS: most least best worst largest biggest
JJR: better more older bigger less longer earlier later faster smaller harder younger happier
CD: one hundred thousand two
CD/p: two three four ten five six seven twenty eight nine eleven forty
$: $
IN: in of on with by at for from about near over under after before through behind like off down
  up around past round without since until out inside as that
IN/that: that if
IN/when: because when if while although after before since as until so
IN/by: by with
IN/for: for by of in without from
IN/of: of
IN/in: in since by until
IN/than: than
TO: to
MD: will can would could must should may might
RB: back well now early here right still there again home late fast hard away then today alone
  long close slowly quietly about once twice soon together outside inside before around off down
  up in
RB/about: about only nearly almost
RB/not: n't not
RB/not-full: not
RB/very: very so too quite rather really only even
RB/often: never often always also just still only soon
RBS: most least best
RBR: more less earlier later faster better harder
RP: up out off down in on over back away around about
CC: and or but
WDT: that which
WDT/q: which what
WP: who that
WP/q: who what
WP$: whose
WRB: when why how where
EX: there
,: ,
``: ``
'': ''
:: -- ;
./s: .
./e: !
VBZ/be: 's
./q: ?
"""

# What annotators wrote here and there in place of a word's own tag.
SLIPS = """
the DT: JJ NNP IN
a DT: IN JJ
to TO: IN JJ
and CC: IN JJ
of IN: RP
in IN: NN
for IN: CC RB
it PRP: NN
was VBD: VBZ
at IN: RB
with IN: RB RP
from IN: RB
but CC: IN RB
or CC: JJ
"""

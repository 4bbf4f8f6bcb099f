"""The stems of pocket English's open classes, and what may be made of them.

A line is ``properties : stems``, more frequent stems first. Of verbs the properties are the
valences (see ``pocket_english.py``), a bar, and suffixes of nouns and adjectives; ``0`` makes a
noun of the verb itself. Of nouns and adjectives they are the suffixes, the prefix ``un`` and
comparison (``er``) that go with each stem; ``m`` marks nouns without a plural, ```0`` adjectives
that are nouns, too.
"""

VERBS = """
t i | er 0 : increase trade sell:sold buy:bought move stop press test vote design
t | er 0 : question pay:paid purchase order market demand charge cover issue claim control fund
t | 0 : cause use support measure need base view deal:dealt cost:cost:cost interest
t | er able : produce consume obtain wear:wore:worn employ
t i | 0 : drop gain shift return end slow grow:grew:grown average total rate
c t | 0 : estimate forecast:forecast:forecast doubt reply wonder fear warrant
c t | ment : announce argue judge acknowledge
c t v | ion : decide
c | ation : confirm expect explain
c | : believe suggest indicate add note insist suspect agree predict conclude reveal learn assume
c t | : understand:understood prove determine notice realize imagine
v | : seek:sought agree manage fail refuse intend continue expect tend begin:began:begun hesitate
v t | 0 : attempt aim struggle
v t | er : prefer learn
d | er 0 : lend:lent award grant
d | 0 : mail feed:fed loan
t | ment er able : develop manage adjust treat enforce govern equip settle invest ship
t | ment : improve require involve replace arrange appoint establish engage amend assess commit
t | ment : achieve advertise amuse entertain:entertained encourage discourage refresh retire
t | ment : punish
t i | ion or : act invest direct operate create generate regulate negotiate speculate
t i | ion or : communicate participate contribute narrate translate calculate imitate illustrate
t | ion ive : protect select collect construct instruct attract restrict adopt execute exploit
t | ion ive : conclude include exclude divide invade permit reflect inspect prevent correct object
t | ion able er : produce reduce introduce classify identify clarify modify notify organize
t | ion able er : recognize
t | ion er : criticize privatize stabilize standardize specialize modernize summarize authorize
t | ation able : consider adapt present transform inform observe reserve confront document tax
t | ation able : quote
t | ation : confirm explore limit implement declare prepare export import found resign install
t i | ance er : perform appear allow attend assist resist accept disturb
t | al : approve propose refuse renew withdraw:withdrew:withdrawn survive arrive remove review
t | er able : teach:taught drive:drove:driven design publish advise believe wash repair
t | er 0 : record guide border mark dream drill dust map poll sponsor pilot broker model bomb
t i | er : travel smoke ski hike swim:swam:swum sing:sang:sung bake farm jog knit sweep:swept
t i | er : print
t | able : avoid afford enjoy count prevent dispute forget:forgot:forgotten admire adore
t | ure er : expose seize enclose depart press
t i | 0 : climb jump laugh cry smile guess rush crash knock push pull kick throw:threw:thrown roll
t | 0 : escape debate damage delay pressure target force profit struggle influence study shout
t | 0 : attack audit balance blame boost bid:bid:bid cap copy credit decline display edge favor
t | 0 : fix
t | 0 : finance focus freeze:froze:frozen gauge handle harm honor hunt index insult joke lack
t | 0 : lease
t | 0 : limit link list load lock merit mix offset:offset:offset outline park plot program
t | 0 : protest raise ransom recall repeat request rescue research review risk sample scare scheme
t | 0 : schedule score screen search seal sign signal slide:slid slump sort spot
t | 0 : spread:spread:spread
t | 0 : spur stake stamp state steal:stole:stolen store stress strike:struck strip supply survey
t | 0 : swap
t | 0 : switch touch trace track transfer trim trust venture wage waste witness worry wrap
t | : bring:brought choose:chose:chosen catch:caught:caught spend:spent draw:drew:drawn
t | : fight:fought
t | : meet:met shake:shook:shaken teach:taught win:won win:won bind:bound hurt:hurt:hurt lay:laid
t | : add apply ask acquire affect afford announce assign attach ban bar blend borrow carry cite
t | : cancel combine compare complete compose concern conduct convince convert crush deny deserve
t | : decorate deliver describe destroy discover discuss earn eliminate enable enter exceed
t | : exercise
t | : expand face file fill follow gather greet grab ignore imply impose impress inspire insure
t | : join
t | : launch maintain mention merge miss obey occupy oppose organize overcome:overcame
t | : owe own persuade pick place please possess pour praise prompt pronounce provide push
t | : quit:quit
t | : receive recommend recover release relieve rely remember remind rent repay:repaid resolve
t | : retain reward satisfy save secure serve share shape solve strengthen suffer surround
t | : suspend threaten tie trigger unveil urge value violate widen withhold:withheld yield weaken
i | er 0 : jump sail surf fish camp preach
i | : go:went:gone come:came:come become:became:become happen remain seem stay sit:sat stand:stood
i | : occur exist emerge disappear belong compete react respond rely collapse recede
i | : speak:spoke:spoken wait lie:lay:lain shine:shone sink:sank:sunk shrink:shrank:shrunk
i | : spin:spun
i | : weep:wept hang:hung bleed:bled wander whisper vanish tremble proceed persist differ depend
"""

VERB_PREFIXES = "re over out under mis un"

NOUNS = """
 : percent company year market share stock president official business price government week month
 : group unit director executive state program interest rate chairman product earning industry
 : country system issue city case part loss line number problem court effort trader law economy
 : agency firm bond level quarter plant manager investor fund interest million people area
 : economist
 : contract half security account concern analyst sale client order department spokesman amount
 : office
 : customer question term store service power capital policy value report job result position
al : nation region person education commission profession occasion center coast tradition culture
al : music nature structure region finance addition condition constitution convention dimension
al : emotion globe industry institution norm option origin option parent procedure ration section
al : season sensation tribe verb bureau function fraction politic logic statistic clinic
less ful : care help hope harm use power taste thought color pain fear purpose cheer doubt
less : home job price end child tooth heart speech noise cloud bottom rest sleep coin sound spot
ful : success event wonder beauty play skill force peace youth law delight spoon mouth hand cup
y : rain wind sun cloud snow dust grass smoke health wealth storm salt thirst trick luck risk rock
y : sand shadow silk sleep smell soap speed spice steam stick sugar water wool hair dirt milk ice
ly : friend week month day year cost time man woman father mother brother king love coward
ic : poet hero magnet atom symbol rhythm artist icon metal acid angel optimist economist athlete
b ist ism : commun social capital optim pessim activ national real terror journal tour extrem
b ist ism : ideal
ist : art piano violin novel motor cycle balloon guitar reserve
ship : friend leader owner member partner scholar citizen relation champion court town dealer
hood : child mother father neighbor adult boy brother parent mother
m : money music news research advice art water oil gas coal gold silver steel wheat sugar coffee
m : tea
m : meat rice wool cotton paper software information furniture equipment weather traffic luggage
m : history science physics medicine mathematics evidence knowledge energy electricity income debt
m : inflation justice crime poverty hunger violence health insurance credit cash labor competition
 : account accident actor address adult age aircraft airline airport animal apple apartment arm
 : army
 : article aunt author baby bag ball band basket bath battle beach bed bee bell bench bicycle bill
 : blanket blood board body bone border boss bottle bowl box boy branch bread breakfast brick
 : bridge
 : brother bucket bus bush butter button cabin cable cake camera candle canal candidate captain
 : card
 : career carpet castle cattle ceiling cell century chain chair chapter chest chicken chief chip
 : church cinema circle circus citizen class clerk climate clock cloth cloud club coach coal coat
 : college colony color column committee community computer concert conference congress corn
 : corner
 : costume couch council county couple cousin cow crew crop crowd crown cup curtain danger
 : daughter
 : deputy desert desk dictionary dinner diplomat disease dish doll dollar door dozen drama dress
 : drought drug eagle ear earth editor egg election elephant employee enemy engine engineer essay
 : evening event exam example exchange expert eye factory failure fan farm father feature fence
 : festival film finger flag flight floor folk forest fork fortune fountain fox frame freight frog
 : fruit gallery gang garage gate gesture giant gift girl goal goat grain grandfather guard guest
 : gun guy habit hall hammer hat heart hero highway holiday hospital hotel hour husband idea inch
 : insect island item jacket jail jet jewel journal journey juice junior jury kitchen knee knife
 : ladder lady lamp language laser lawyer leader leather lecture leg lemon lesson library license
 : lion lip machine magazine map margin mayor meal member memory merchant message metal meter
 : midnight mile mine minister minority minute mirror mission mistake mixture moment monkey
 : monument
 : moon motel mountain mouse museum nail neck needle neighbor nest net network newspaper nose
 : novel
 : nurse object ocean offense onion opera opinion orange orchestra organ oven owl package page
 : pair
 : palace panel partner party passenger path patient pattern pen penny pension phone photo phrase
 : piano picture pie pig pillow pipe pirate pizza planet plate platform player poem poet police
 : pool port potion pound priest prince prison prize professor project proof province puzzle
 : rabbit
 : race radio railroad recipe region reporter republic restaurant rice rifle rival robot role roof
 : room root rope route rule sailor salad sandwich sauce scandal scene scholar scientist sea
 : season
 : seat senator sense series sheep sheet shelf shirt shoe shop shoulder shore sister site size
 : skin
 : skirt sky slave snake soldier son song soup space species spider sport stadium staff stage star
 : station statue status storm strategy student style subject suburb subsidiary sum summer supper
 : surface surgeon surgery sweater symbol table tail tailor tank task taxi team telephone
 : television
 : temple tenant tent text theater theory thief thing throat ticket tiger title toe tomato tongue
 : tool tooth tower toy tract tractor treaty trial tribe trick trip truck trumpet tube tunnel type
 : uncle union university vacation valley van variety vegetable vehicle version victim view violin
 : virus voice volume voter wagon waiter warehouse warning weapon weekend wheel wife wing witness
 : wolf worker world writer yard youth zone
"""

IRREGULAR_PLURALS = """
woman women ; man men ; child children ; foot feet ; tooth teeth ; mouse mice ; wolf wolves
knife knives ; wife wives ; shelf shelves ; thief thieves ; leaf leaves ; half halves
people people
sheep sheep ; series series ; species species ; aircraft aircraft ; potato potatoes ; hero heroes
tomato tomatoes ; fish fish ; physics physics ; person people ; series series ; police police
"""

ADJECTIVES = """
ly : recent major federal financial current general economic annual common total net average
0 : public
ly 0 : foreign private official corporate individual future potential chief standard
ly 0 : commercial regular final initial liberal conservative local original technical material
ly 0 : alternative executive objective native representative relative collective perspective
un ly ness er : happy fair kind clear steady healthy lucky tidy ready easy
un ness er : friendly likely
un ly ity : equal real original popular familiar similar rational moral stable
un ly : certain usual common necessary successful pleasant conscious natural official
un ly : fortunate precise
un ly : important profitable acceptable comfortable reasonable remarkable available notable
ly ness er : sad bright weak sick thick thin soft loud sharp blind bitter sweet polite rude brave
ly ness er : calm clever cool crude dull eager firm fierce gentle grave great harsh heavy high
ly ness er : light
ly ness er : mild narrow neat nice odd pale plain proud pure quick rapid rough safe shallow simple
ly ness er : slight smooth solemn strange strict swift tender tense tight tough vague vast vivid
ly ness er : wide wild wise lazy busy hungry angry empty funny merry mighty noisy pretty silly
ly ness er : ugly
ly ity : able active actual brutal central complex creative curious diverse dual fatal final
ly ity : formal generous hostile human intense legal mature mental moral national neutral normal
ly ity : objective personal possible productive sensitive severe special mutual vital visible
ly ity : electric elastic toxic domestic static authentic valid humid solid fluid timid
ly : additional political industrial strong strategic significant substantial serious separate
ly : previous key particular various independent frequent permanent temporary constant sudden
ly : brief broad double due early entire exact extra extreme fresh full further immediate modern
ly : internal external international regional residential professional optional critical
ly : typical tropical musical medical classical chemical physical clinical digital agricultural
ly : environmental experimental fundamental governmental rural urban civil military solar lunar
ly : nuclear cellular senior junior minor prior inner outer upper lower rival tiny huge giant
ly : famous dangerous nervous religious cautious anxious obvious numerous jealous mysterious
ly : complete concrete absolute remote definite favorite elaborate adequate moderate ultimate
 : aware alone alive asleep ill
ly : wrong sorry cheap expensive false rare raw ripe royal sacred
"""
ADJECTIVE_PREFIXES = "non pre post anti pro inter super"

NOUN_PREFIXES = "co- sub super ex- anti- mini- micro inter over under non vice- self-"

COMPOUND_FIRST = """
air back bank bed book brain bread bus car church class coast corn country court cross day dish
door
down eye farm fire fish flower foot gold grand grass green hair hand head heart high home horse
house
ice key king lake land law life light lock low mail market master mid milk mill moon neck news
night
oil over paper pass pipe play police post power race rail rain river road rock safe sail salt sand
school sea ship shop short side sky snow space speed stage star steel stock stone store street sun
table tax tea text time town track trade under up war water week wheat wind wine wood work yard
"""
COMPOUND_LAST = """
house work line man maker holder keeper land market time room book side stone light way yard board
bank boat ground paper ship shop town place fall point mate guard worker owner builder seller
buyer
dealer driver hunter fighter stream storm break storage craft
"""

# Of "state-owned", "high-level" and "two-year".
PARTICIPLES = """
based owned related backed controlled run made led sponsored driven linked funded managed oriented
built producing making saving trading
"""
MEASURED = "high low long short mid full top large small first second third one two big good"
MEASURES = """
term level price speed quality scale range time run rate grade class size share end cost yield
"""
UNITS = "year day week month hour minute mile foot page man part point room story inch bedroom"
COUNTS = "one two three four five six seven eight nine ten 12 15 20 25 30 40 50 90 100"

FIRST_NAMES = """
John Robert James William Richard David Michael Thomas Mary Paul Peter George Charles Donald Mark
Tom Bill Anna Grace May June Rob Will Rose Edward Frank Joseph Kenneth Steven Daniel Alan Roger
Martin
Susan Barbara Linda Carol Nancy Ann Jane Helen Ruth Alice Laura Sarah Ellen Julia Emily Karen Lisa
Walter Arthur Henry Harold Howard Philip Ralph Raymond Samuel Stanley Stephen Victor Vincent Lewis
Gordon Eric Fred Jack Jim Jeffrey Larry Leon Louis Neil Norman Oscar Patrick Ronald Simon Terry
"""
INITIALS = "J. A. R. M. L. W. E. H. C. D. P. S. B. F. G. T. N. K. V. O."
TITLES = "Mr. Mrs. Ms. Dr. Sen. Judge President Rep. Gen. Prof. Gov. Justice Sir Lord"
LAST_NAMES = """
Smith Brown Johnson King Young Baker Lake Hill Miller Davis Wilson Moore Taylor Anderson Jackson
White
Harris Clark Lee Walker Hall Allen Wright Scott Green Adams Nelson Carter Mitchell Roberts Turner
"""
LAST_NAME_STEMS = """
Al An Ash Ack Bar Ben Ber Black Brad Bran Bur Cal Car Chap Clay Col Cran Dal Dan Den Dun Ed Ell
Ester
Fair Far Fen Fitz Ford Fran Gar Gil Gold Good Gran Gren Had Ham Har Hart Hol Hud Hutch Jer Kel Kim
Kir
Lam Lang Law Lin Lock Mac Mal Mar Mather Mel Mor Nor Nor Os Pal Par Pen Pres Rams Ren Rich Rob Ros
Sal San Shel Sher Sil Stan Stein Sul Tal Tem Thorn Tol Van Wal War Wat Wel Wil Win Wood
"""
LAST_NAME_ENDINGS = """
son ton man berg ley ner ders well ford field worth ham lin by wick stein dale croft more ster sen
ski
ov ini ez mann
"""
PLACES = """
London Boston Paris Ohio Washington Chicago Japan Texas California America Europe Britain Germany
Canada France Tokyo China Mexico Florida India Russia Italy Spain Chile Peru Egypt Israel Kenya
Detroit Dallas Houston Denver Seattle Miami Atlanta Berlin Rome Madrid Moscow Vienna Geneva Oslo
Brazil Poland Sweden Norway Korea Taiwan Virginia Georgia Oregon Nevada Alaska Utah Iowa Kansas
"""
PLACE_STEMS = """
Ash Bay Beck Bell Birch Brook Cedar Clear Cliff Cold Crest Deer Eagle East Elm Fair Falcon Fern
Glen
Gran Haven High Holly Iron Lake Lex Mans Maple Mill New North Oak Orch Pine Plain Red Ridge River
Rock
Salis Sand Silver South Spring Stone Sun Syl Thorn Water West White Will Wood
"""
PLACE_ENDINGS = "ville ton burg ford port field dale wood haven mont side bury view land"
PLACE_WORDS = "City Beach Island County Valley Springs Hills River Park Street Lake Bay"
COMPANY_STEMS = """
Am Ana Apex Astra Bio Cal Can Cell Cen Chem Com Con Cor Data Dia Digi Dyna Eco Elec Ener Euro Fed
Fer
Gen Geo Giga Glo Hydro Inter Lumi Macro Med Mega Meri Metro Micro Mid Mono Nor Nova Omni Opti Pac
Para
Petro Pharma Poly Pro Quan Royal Semi Sig Sol Star Syn Tech Tele Terra Trans Tri Uni Ver Vita West
"""
COMPANY_ENDINGS = """
tech com soft gen net star tron dyne corp lux mark max med plex graph tel trust vest vision way
ware
stat comp cast co quest life air dex ron
"""
COMPANY_WORDS = """
Corp. Inc. Co. Ltd. Group Bank Industries Holdings Trust Associates Bancorp Partners
"""
ORGANIZATION_FIRST = """
National Federal American First United General Western Pacific Central New International British
European Northern Southern Eastern Japanese Atlantic Supreme Old Royal Soviet Republican
Democratic
"""
ORGANIZATION_LAST = """
Bank Court House Senate Street Exchange Board Department University Congress Commission Union
Association Institute Office Council Airlines Motors Power Securities Agency Committee Times
Journal
Fund Electric Savings Oil Steel Press Party Center College Church Army Reserve Treasury
"""
LETTERS = "A B C D E F G I K L M N P R S T U V W"
MONTHS = """
Jan. Oct. Nov. Sept. Dec. June July March April May Aug. Feb. January October August September
"""
DAYS = "Friday Monday Tuesday Thursday Wednesday Sunday Saturday"
NATIONALITIES = """
American Japanese British European German French Chinese Soviet Canadian Mexican Russian Italian
Spanish African Asian Indian Korean Dutch Swiss Polish Australian Israeli Egyptian Norwegian
Swedish
Brazilian Chilean Peruvian Cuban Danish Turkish Greek Irish Scottish Welsh Hungarian Austrian
"""

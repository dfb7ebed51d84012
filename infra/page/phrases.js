// The texts of the page: a name, and the text in each language in the order of `languages` in texts.js.

export default `language
Language, of notifications too
Sprache, auch der Benachrichtigungen
Langue, des notifications aussi
言語 (通知も)
언어 (알림 포함)
语言（包括通知）

waiting
Waiting for the server…
Warte auf den Server …
En attente du serveur…
サーバーの応答を待っています…
서버를 기다리는 중…
正在等待服务器……

again
Try again
Noch einmal
Réessayer
再試行
다시 시도
重试

who
Player {player}
Spieler {player}
Joueur {player}
プレイヤー {player}
플레이어 {player}
棋手 {player}

signOut
Sign out of this browser
In diesem Browser abmelden
Se déconnecter de ce navigateur
このブラウザからサインアウト
이 브라우저에서 로그아웃
在此浏览器中退出登录

revoke
Revoke the key, and thus its link, too
Auch den Schlüssel sperren, und damit den Link
Révoquer aussi la clé, donc son lien
キーとリンクも無効にする
키와 링크도 폐기하기
同时撤销密钥及其链接

badLink
This link or key is incomplete.
Der Link oder Schlüssel ist unvollständig.
Ce lien ou cette clé est incomplet.
リンクかキーが不完全です。
링크나 키가 완전하지 않습니다.
链接或密钥不完整。

noStorage
This browser keeps nothing. Allow cookies.
Dieser Browser speichert nichts. Erlaube Cookies.
Ce navigateur ne conserve rien. Autorisez les cookies.
このブラウザには保存できません。Cookie を許可してください。
이 브라우저에 저장할 수 없습니다. 쿠키를 허용하세요.
此浏览器无法保存。请允许 Cookie。

switch
Switch from player {from} to player {to}?
Von Spieler {from} zu Spieler {to} wechseln?
Passer du joueur {from} au joueur {to} ?
プレイヤー {from} から {to} に切り替えますか?
플레이어 {from}에서 {to}(으)로 바꿀까요?
要从棋手 {from} 切换到 {to} 吗?

copy.copy
Copy
Kopieren
Copier
コピー
복사
复制

copy.done
Copied.
Kopiert.
Copié.
コピーしました。
복사했습니다.
已复制。

signedOut.title
Sign in
Anmelden
Connexion
サインイン
로그인
登录

signedOut.text
Open the operator’s sign-in link, or paste it here.
Öffne den Anmeldelink des Betreibers, oder füge ihn hier ein.
Ouvrez le lien de connexion de l’opérateur, ou collez-le ici.
運営者からのサインインリンクを開くか、ここに貼り付けてください。
운영자의 로그인 링크를 열거나 여기에 붙여 넣으세요.
请打开运营者给您的登录链接，或在此粘贴。

signedOut.link
Link or API key
Link oder API-Schlüssel
Lien ou clé API
リンクか API キー
링크 또는 API 키
链接或 API 密钥

signedOut.done
You are signed out.
Du bist abgemeldet.
Vous êtes déconnecté.
サインアウトしました。
로그아웃했습니다.
您已退出登录。

signedOut.left
The server could not be told: {why}
Dem Server konnte das nicht gesagt werden: {why}
Impossible d’en informer le serveur : {why}
サーバーに伝えられませんでした: {why}
서버에 알리지 못했습니다: {why}
无法通知服务器：{why}

games.title
Games
Partien
Parties
対局
대국
对局

games.waiting
Your turn
Du bist am Zug
À vous de jouer
あなたの手番
내 차례
轮到您

games.others
Other active games
Weitere laufende Partien
Autres parties en cours
その他の進行中の対局
진행 중인 다른 대국
其他进行中的对局

games.noneWaiting
No game waits for you.
Keine Partie wartet auf dich.
Aucune partie ne vous attend.
あなたの手番の対局はありません。
내 차례인 대국이 없습니다.
没有对局在等您。

games.unnamed
Game {id}
Partie {id}
Partie {id}
対局 {id}
대국 {id}
对局 {id}

games.lastMove
Last move: {ago}
Letzter Zug: {ago}
Dernier coup : {ago}
最後の着手: {ago}
마지막 수: {ago}
上一手：{ago}

games.against
Against {name}
Gegen {name}
Contre {name}
相手: {name}
상대: {name}
对手：{name}

games.left
Time ends {time}
Zeit endet {time}
Fin du temps {time}
{time}に時間切れ
{time} 시간 초과
{time}超时

games.paused
Paused
Pausiert
En pause
中断中
일시 중지
已暂停

games.noBoard
Boards appear once a move is made.
Bretter erscheinen nach dem nächsten Zug.
Les gobans apparaissent au prochain coup.
盤面は次の着手の後に表示されます。
바둑판은 다음 수 이후에 표시됩니다.
棋盘将在下一手后显示。

games.board
Board after {moves} moves: {black} black and {white} white stones
Brett nach {moves} Zügen: {black} schwarze und {white} weiße Steine
Goban après {moves} coups : {black} pierres noires et {white} blanches
{moves} 手後の盤面: 黒石 {black}、白石 {white}
{moves}수 이후의 바둑판: 흑 {black}, 백 {white}
第 {moves} 手后的棋盘：黑子 {black}，白子 {white}

browser.title
This browser
Dieser Browser
Ce navigateur
このブラウザ
이 브라우저
此浏览器

browser.turnOn
Notify me
Benachrichtigen
M’avertir
通知を受け取る
알림 받기
通知我

browser.turnOff
Stop notifications
Nicht mehr benachrichtigen
Arrêter les notifications
通知を止める
알림 끄기
停止通知

browser.on
Notifications are on.
Benachrichtigungen sind an.
Les notifications sont activées.
通知はオンです。
알림이 켜져 있습니다.
通知已开启。

browser.off
Notifications are off.
Benachrichtigungen sind aus.
Les notifications sont désactivées.
通知はオフです。
알림이 꺼져 있습니다.
通知已关闭。

browser.insecure
This needs an address with https://.
Das braucht eine Adresse mit https://.
Cela exige une adresse en https://.
https:// のアドレスが必要です。
https:// 주소가 필요합니다.
需要 https:// 地址。

browser.homeScreen
For notifications, copy your link, tap Share, then Add to Home Screen. Open Turnstone there and paste the link.
Für Benachrichtigungen: Kopiere deinen Link, tippe auf Teilen, dann „Zum Home-Bildschirm“. Öffne Turnstone dort und füge den Link ein.
Pour être averti, copiez votre lien, touchez Partager, puis « Sur l’écran d’accueil ». Ouvrez-y Turnstone et collez le lien.
通知を受け取るには、リンクをコピーし、「共有」から「ホーム画面に追加」を選び、そこから開いてリンクを貼り付けてください。
알림을 받으려면 링크를 복사하고 공유에서 ‘홈 화면에 추가’를 선택한 뒤, 거기에서 열고 링크를 붙여 넣으세요.
要接收通知：复制链接，点按“共享”，选择“添加到主屏幕”，再从那里打开并粘贴链接。

browser.private
This looks like a private window.
Das scheint ein privates Fenster zu sein.
Cela semble être une fenêtre privée.
プライベートウィンドウのようです。
사생활 보호 창인 것 같습니다.
这似乎是隐私窗口。

browser.unsupported
This browser cannot receive notifications.
Dieser Browser kann keine Benachrichtigungen empfangen.
Ce navigateur ne peut pas recevoir de notifications.
このブラウザは通知を受け取れません。
이 브라우저는 알림을 받을 수 없습니다.
此浏览器无法接收通知。

browser.denied
This browser blocks notifications (private windows always do). Allow them beside the address.
Dieser Browser blockiert Benachrichtigungen (private Fenster immer). Erlaube sie neben der Adresse.
Ce navigateur bloque les notifications (les fenêtres privées toujours). Autorisez-les près de l’adresse.
このブラウザは通知をブロックしています (プライベートウィンドウでは常に)。アドレスの横で許可してください。
이 브라우저가 알림을 차단합니다(사생활 보호 창은 항상). 주소 옆에서 허용하세요.
此浏览器阻止了通知（隐私窗口总是如此）。请在地址旁允许。

browser.dismissed
Not allowed yet. Press again.
Noch nicht erlaubt. Drücke noch einmal.
Pas encore autorisé. Appuyez de nouveau.
まだ許可されていません。もう一度押してください。
아직 허용하지 않았습니다. 다시 누르세요.
尚未允许。请再按一次。

browser.noService
The browser could not reach its push service, or has none.
Der Browser hat seinen Push-Dienst nicht erreicht oder hat keinen.
Le navigateur n’a pas pu joindre son service push, ou n’en a pas.
ブラウザがプッシュサービスに接続できないか、サービスがありません。
브라우저가 푸시 서비스에 연결하지 못했거나 서비스가 없습니다.
浏览器无法连接推送服务，或没有推送服务。

browser.serverOff
This server does not notify browsers.
Dieser Server benachrichtigt keine Browser.
Ce serveur n’avertit pas les navigateurs.
このサーバーはブラウザに通知しません。
이 서버는 브라우저로 알림을 보내지 않습니다.
此服务器不通知浏览器。

browser.test
Send me one now
Jetzt eine senden
M’en envoyer une
今すぐ送ってみる
지금 하나 보내기
现在发一条

devices.title
Devices
Geräte
Appareils
デバイス
기기
设备

devices.remove
Remove
Entfernen
Retirer
削除
삭제
移除

devices.web
browser
Browser
navigateur
ブラウザ
브라우저
浏览器

devices.none
None is registered.
Keines ist registriert.
Aucun n’est enregistré.
ありません。
없습니다.
没有。

devices.reached
reached {ago}
erreicht {ago}
joint {ago}
到達: {ago}
전달: {ago}
送达于{ago}

wanted.title
Preferences
Einstellungen
Préférences
設定
설정
偏好设置

wanted.quiet
Quiet hours
Ruhezeit
Heures calmes
通知しない時間帯
방해 금지 시간
免打扰时间

wanted.from
From
Von
De
開始
시작
从

wanted.to
To
Bis
À
終了
끝
到

wanted.zone
Time zone
Zeitzone
Fuseau horaire
タイムゾーン
시간대
时区

wanted.save
Save
Speichern
Enregistrer
保存
저장
保存

wanted.saved
Preferences saved.
Einstellungen gespeichert.
Préférences enregistrées.
設定を保存しました。
설정을 저장했습니다.
已保存。

wanted.mute
Mute
Stummschalten
Silence
ミュート
음소거
静音

wanted.hour
For an hour
Für eine Stunde
Pendant une heure
1 時間
한 시간 동안
一小时

wanted.morning
Until morning
Bis zum Morgen
Jusqu’au matin
朝まで
아침까지
到早上

wanted.unmute
End the mute
Nicht mehr stumm
Fin du silence
ミュートを解除
음소거 끝내기
结束静音

wanted.muted
Muted until {until}.
Stumm bis {until}.
Silence jusqu’au {until}.
{until} までミュート中です。
{until}까지 음소거되어 있습니다.
静音至 {until}。

history.title
History
Verlauf
Historique
履歴
기록
历史记录

history.incomplete
Some cannot be read now.
Einige sind gerade nicht lesbar.
Certaines sont illisibles pour le moment.
今は読めないものがあります。
지금은 일부를 읽을 수 없습니다.
部分记录暂时无法读取。

history.none
Nothing in the last 30 days.
Nichts in den letzten 30 Tagen.
Rien ces 30 derniers jours.
過去 30 日間はありません。
지난 30일 동안 없습니다.
最近 30 天没有。

history.more
Older ones
Ältere
Plus anciennes
さらに古い通知
이전 알림
更早的

history.test
Test
Test
Essai
テスト
시험
测试

history.message
Message
Nachricht
Message
メッセージ
메시지
消息

outcome.accepted
Delivered to the push service.
An den Push-Dienst übergeben.
Remise au service push.
プッシュサービスに渡しました。
푸시 서비스에 전달했습니다.
已交给推送服务。

outcome.waiting
Is tried again soon.
Wird bald wieder versucht.
Nouvel essai bientôt.
まもなく再送します。
곧 다시 보냅니다.
稍后重试。

outcome.held
Waits for the end of your mute or quiet hours.
Wartet auf das Ende der Ruhezeit.
Attend la fin du silence ou des heures calmes.
ミュートまたは通知しない時間帯の終わりを待っています。
음소거나 방해 금지 시간이 끝나기를 기다립니다.
等待静音或免打扰结束。

outcome.notSent
Not sent: {why}
Nicht gesendet: {why}
Non envoyée : {why}
送信なし: {why}
보내지 않음: {why}
未发送：{why}

notSent.late
it was out of date.
überholt.
périmée.
古くなりました。
지난 내용입니다.
已过时。

notSent.answered
the games were answered.
die Partien sind beantwortet.
vous aviez joué.
すでに着手済みです。
이미 두었습니다.
您已落子。

notSent.newer
a newer one replaced it.
durch eine neuere ersetzt.
remplacée par une autre.
新しい通知に置き換えました。
새 알림으로 바뀌었습니다.
已被新通知取代。

notSent.unwanted
you turned this kind off.
du hast diese Art ausgeschaltet.
vous avez désactivé ce type.
この種類はオフです。
이 종류는 꺼져 있습니다.
您关闭了此类通知。

notSent.unregistered
The device was removed.
Das Gerät wurde entfernt.
L’appareil a été retiré.
デバイスを削除しました。
기기를 삭제했습니다.
设备已移除。

notSent.held
mute or quiet hours. The next one includes it.
Ruhezeit. Die nächste enthält sie.
heures calmes. La prochaine l’inclut.
ミュート中。次の通知に含まれます。
음소거 중입니다. 다음 알림에 포함됩니다.
静音中。下一条会包含它。

notSent.delivered
another entry is about the same device.
ein anderer Eintrag betrifft dasselbe Gerät.
une autre entrée concerne le même appareil.
同じデバイスの別の項目があります。
같은 기기의 다른 항목이 있습니다.
另一条目是同一设备。

notSent.unsuitable
this device cannot show it.
das Gerät kann sie nicht anzeigen.
l’appareil ne peut pas l’afficher.
このデバイスでは表示できません。
이 기기는 표시할 수 없습니다.
此设备无法显示。

notSent.unselected
it was no longer meant for you.
sie galt dir nicht mehr.
elle ne vous concernait plus.
対象から外れました。
대상에서 제외되었습니다.
您已不在接收者中。

notSent.released
nothing of it was left.
es war nichts mehr übrig.
il n’en restait rien.
残りはありません。
남은 것이 없습니다.
已无剩余内容。

outcome.refused
The push service refused it.
Vom Push-Dienst abgelehnt.
Refusée par le service push.
プッシュサービスに拒否されました。
푸시 서비스가 거부했습니다.
推送服务拒绝了它。

outcome.gone
The device no longer takes notifications.
Das Gerät nimmt keine Benachrichtigungen mehr an.
L’appareil n’accepte plus de notifications.
デバイスは通知を受け取らなくなりました。
기기가 더 이상 알림을 받지 않습니다.
设备不再接收通知。

outcome.cancelled
Cancelled before it was sent.
Vor dem Senden abgebrochen.
Annulée avant l’envoi.
送信前に取り消しました。
보내기 전에 취소했습니다.
发送前已取消。

outcome.damaged
Lost by a fault of the server.
Durch einen Fehler des Servers verloren.
Perdue par une erreur du serveur.
サーバーの障害で失われました。
서버 오류로 사라졌습니다.
因服务器故障丢失。

push.body
There is news about your games.
Es gibt Neues zu deinen Partien.
Il y a du nouveau dans vos parties.
対局に新しい動きがあります。
대국에 새 소식이 있습니다.
您的对局有新消息。

failure.offline
The server cannot be reached. Check the network.
Der Server ist nicht erreichbar. Prüfe das Netz.
Le serveur est injoignable. Vérifiez le réseau.
サーバーに接続できません。ネットワークを確認してください。
서버에 연결할 수 없습니다. 네트워크를 확인하세요.
无法连接服务器。请检查网络。

failure.key
This key does not work. Ask for a new link.
Dieser Schlüssel gilt nicht. Bitte um einen neuen Link.
Cette clé ne fonctionne pas. Demandez un nouveau lien.
このキーは使えません。新しいリンクをもらってください。
이 키는 작동하지 않습니다. 새 링크를 요청하세요.
此密钥无效。请索取新的链接。

failure.tooMany
Too many devices. Remove one first.
Zu viele Geräte. Entferne zuerst eines.
Trop d’appareils. Retirez-en un d’abord.
デバイスが多すぎます。先に一つ削除してください。
기기가 너무 많습니다. 먼저 하나를 삭제하세요.
设备太多。请先移除一个。

failure.changed
Your preferences changed elsewhere. Save them again.
Deine Einstellungen wurden anderswo geändert. Speichere sie erneut.
Vos préférences ont changé ailleurs. Enregistrez de nouveau.
設定がほかで変更されました。もう一度保存してください。
다른 곳에서 설정이 바뀌었습니다. 다시 저장하세요.
偏好设置已在别处更改。请再次保存。

failure.refused
The server refused this: {why}
Der Server hat das abgelehnt: {why}
Le serveur a refusé : {why}
サーバーに拒否されました: {why}
서버가 거부했습니다: {why}
服务器拒绝了请求：{why}

failure.tooOften
Too many requests. Wait a minute.
Zu viele Anfragen. Warte eine Minute.
Trop de requêtes. Attendez une minute.
リクエストが多すぎます。1 分お待ちください。
요청이 너무 많습니다. 1분 기다리세요.
请求太多。请等一分钟。

failure.busy
The server is busy, or Online-Go.com does not answer.
Der Server ist beschäftigt, oder Online-Go.com antwortet nicht.
Le serveur est occupé, ou Online-Go.com ne répond pas.
サーバーが混んでいるか、Online-Go.com が応答しません。
서버가 바쁘거나 Online-Go.com이 응답하지 않습니다.
服务器繁忙，或 Online-Go.com 没有响应。

failure.other
Something went wrong: {why}
Etwas ist schiefgegangen: {why}
Une erreur est survenue : {why}
問題が発生しました: {why}
문제가 생겼습니다: {why}
出现问题：{why}

signup.title
Sign in with Online-Go.com
Mit Online-Go.com anmelden
Se connecter avec Online-Go.com
Online-Go.comでログイン
Online-Go.com으로 로그인
用 Online-Go.com 登录

signup.intro
A code in your profile there shows that it is you.
Ein Code in deinem Profil dort zeigt, dass du es bist.
Un code dans votre profil là-bas montre que c’est vous.
プロフィールに入れるコードで本人確認をします。
프로필에 넣은 코드로 본인임을 확인합니다.
在个人资料中放入代码，证明是您本人。

signup.label
Your name on Online-Go.com
Dein Name auf Online-Go.com
Votre nom sur Online-Go.com
Online-Go.comでの名前
Online-Go.com에서 쓰는 이름
您在 Online-Go.com 的名字

signup.begin
Get a code
Code anfordern
Obtenir un code
コードを取得
코드 받기
获取代码

signup.put
Save this code in the text “About” of {name}'s profile:
Speichere diesen Code im Text „About“ im Profil von {name}:
Enregistrez ce code dans le texte « About » du profil de {name} :
このコードを{name}さんのプロフィールの「About」に保存してください：
이 코드를 {name} 님 프로필의 “About”에 저장하세요:
把此代码保存到 {name} 个人资料的“About”中：

signup.warning
Use only a code that you asked for here: one sent to you lets its sender in.
Verwende nur einen Code, den du hier angefordert hast: Ein zugeschickter lässt den Absender hinein.
N’utilisez qu’un code que vous avez demandé ici : un code reçu donne accès à qui l’envoie.
自分でここで取得したコードだけを使ってください。人から送られたコードでは、その人がログインできてしまいます。
여기서 직접 받은 코드만 사용하세요. 다른 사람이 보낸 코드는 그 사람을 로그인시킵니다.
只使用您自己在此获取的代码：别人发来的代码会让对方登录。

signup.confirm
The code is in my profile
Der Code steht in meinem Profil
Le code est dans mon profil
プロフィールにコードを入れました
프로필에 코드를 넣었습니다
代码已在我的个人资料中

signup.again
Another name
Anderer Name
Un autre nom
別の名前
다른 이름
换一个名字

signup.expired
This code has expired. Ask for another one.
Dieser Code ist abgelaufen. Fordere einen neuen an.
Ce code a expiré. Demandez-en un autre.
このコードは期限切れです。新しいコードを取得してください。
이 코드는 만료되었습니다. 새 코드를 받으세요.
此代码已过期。请重新获取。

signup.notYet
The code is not in the profile yet.
Der Code steht noch nicht im Profil.
Le code n’est pas encore dans le profil.
コードはまだプロフィールにありません。
코드가 아직 프로필에 없습니다.
个人资料中还没有此代码。

signup.unknown
Online-Go.com knows no player of this name.
Online-Go.com kennt keinen solchen Namen.
Online-Go.com ne connaît pas ce nom.
その名前のプレイヤーはいません。
그런 이름의 플레이어가 없습니다.
没有这个名字的棋手。

signup.keys
Too many keys. Sign out somewhere and revoke one.
Zu viele Schlüssel. Melde dich irgendwo ab und sperre einen.
Trop de clés. Déconnectez-vous ailleurs en révoquant la clé.
キーが多すぎます。どこかでサインアウトして無効にしてください。
키가 너무 많습니다. 다른 곳에서 로그아웃하며 폐기하세요.
密钥太多。请在别处退出登录并撤销密钥。`

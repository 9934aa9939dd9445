/**
 * What the words of a response say about a bounce, in the order of precedence, with the source of each row. Words make a
 * class milder, whatever the code. HARD words count only beside a code without details: see `classify-bounce.ts`.
 *
 * Words are in lower case, between lines; `*` stands for the rest of a word, or for a word.
 */
import type { BounceClass } from './bounce.schema.ts'

export interface WordRow {
  class: BounceClass
  source: string
  words: string
  /** The row holds beside this code only. */
  code?: string
}

export const wordRows: readonly WordRow[] = [
  {
    class: 'HARD',
    code: '5.4.1',
    source: 'Microsoft, NDR 5.4.1: directory-based edge blocking refuses an unknown recipient',
    words: 'recipient address rejected: access denied',
  },
  {
    class: 'SOFT',
    source: 'the server was not reached, or has a fault of its own: Postfix, Exim, Sendmail, qmail',
    words: `
      timed out | timeout | connection refused | lost connection | network is unreachable | no route to host | loops
      back to myself | mail loop | hop count* | retry time* | configuration error | internal error | system error |
      server error | i/o error | read-only file system
    `,
  },
  {
    class: 'SOFT',
    source: 'the name server or the directory did not answer: Postfix smtp(8), Exim, SendGrid, Zimbra, Dovecot',
    words: `
      servfail | dns failure | name service error | unable to get mx | failed to get ips | ldap error | ldap
      lookup fail* | ldap fail* | database error | database unavailable | database is unavailable | backend error | backend
      unavailable | maintenance | being migrated | migration in progress | is locked | mailbox locked | in use by another
    `,
  },
  {
    class: 'SOFT',
    source: 'Postfix reject_unverified_recipient: the address could not be probed; "undeliverable address" is certain',
    words: 'unverified address | unverified recipient | verification in progress',
  },
  {
    class: 'POLICY',
    source: "the domain of the sender has no MX: the postmaster's page of GMX and web.de",
    words: 'invalid dns mx',
  },
  {
    class: 'POLICY',
    source: 'the sender is refused: Postfix reject_*_sender_*, reject_*_helo_hostname; Exim verify = sender, helo',
    words: `
      sender address* | sender verif* | sender domain | sender rejected | sender denied | sender is not | sender not |
      sender id | invalid sender | unknown sender | verify sender | verify the sender | sender's | your sender |
      address of the sender | from address | from header | from domain | mail from | return path | return-path |
      envelope sender | envelope from | helo | ehlo | pipelin* | client host* | sending ip | your ip | your mail
      server | your server | your host | your network | from your domain | valid from | invalid domain name
    `,
  },
  {
    class: 'POLICY',
    source: 'the same in German: Exchange, Postfix of web hosts',
    words: 'absender* | zugriff verweigert',
  },
  {
    class: 'POLICY',
    source: 'the same in French, Spanish and Italian: Exchange',
    words: 'expéditeur | accès refusé | remitente | acceso denegado | mittente | accesso negato',
  },
  {
    class: 'POLICY',
    source: 'lists and reputation: Gmail 5.7.1, Yahoo, Microsoft S3140 and S3150, Spamhaus, Cisco, Mimecast',
    words: `
      blocklist* | block list* | blacklist* | black list* | denylist* | dnsbl | rbl | spamhaus | spamcop | barracuda*
      | blocked | blocking | banned | reputation | senderbase | junk* | spam* | unsolicited | bulk mail | suspicious*
      | phish* | is listed | are listed | listed by | listed at | greylist* | graylist* | abus* | complaints | weren't
      sent | ube | uce
    `,
  },
  {
    class: 'POLICY',
    source: 'authentication: RFC 7208, RFC 6376, RFC 7489, Gmail 5.7.25 to 5.7.30, Yahoo, Microsoft 5.7.515',
    words: `
      spf | dkim | dmarc | unauthenticated | authenticat* | not verified | reverse dns | rdns | ptr | hostname |
      reverse lookup | client ip
    `,
  },
  {
    class: 'POLICY',
    source: 'no permission to post: Google Groups, in the language of the group',
    words: `
      권한 | 権限 | 權限 | 权限 | berechtigung* | permisos necesarios | permissão | autorizzazione | toestemming | pas
      autorisé* | nemáte oprávnění | uprawnień | не маєте дозволу | нет разрешения | μην έχετε δικαίωμα | غير مصرح |
      مجوز لازم | אין לך אישור | अनुमति
    `,
  },
  {
    class: 'SOFT',
    source: 'the mailbox is full: Postfix virtual(8), Dovecot quota, Cyrus, Gmail 4.2.2 and 5.2.2, Yahoo 552',
    words: `
      quota* | overquota | over limit | over its limit | over capacity | mailbox size | out of storage | storage
      exceeded | mailbox full | inbox full | is full | was full | mailbox has exceeded |
      storage limit | storage allocation | disk full | no space left | out of space | not enough space | not enough
      storage | insufficient*
    `,
  },
  {
    class: 'SOFT',
    source: 'the same in German: Exchange, Open-Xchange',
    words: 'postfach voll | postfach ist voll | postfach des empfängers ist voll | speicherplatz* | limit erreicht',
  },
  {
    class: 'SOFT',
    source: 'the same in French, Spanish, Italian, Portuguese, Dutch, Polish and Japanese: Exchange',
    words: `
      boîte pleine | saturé* | su capacidad | oltre il limite | boîte de réception est pleine | boîte aux lettres est pleine | buzón lleno | buzón está lleno |
      casella piena | casella di posta è piena | caixa de correio cheia | caixa de correio está cheia | postvak is vol
      | skrzynka pełna | メールボックスがいっぱい | 容量
    `,
  },
  {
    class: 'SOFT',
    source: 'too much at once: Gmail 4.2.1, 5.2.1 and 5.4.5, Microsoft 5.2.122, Yahoo TSS04, Exim ratelimit',
    words: `
      rate | ratelimit* | too many | too much | too quickly | too fast | throttl* | sending limit* | message limit* |
      daily limit | hourly limit | receive limit* | receiving limit* | maximum emails | messages per | mails per |
      temporarily not accepting messages | vacation hold
    `,
  },
  {
    class: 'SOFT',
    source: 'the same in German, French, Spanish, Italian and Portuguese: Exchange, Open-Xchange, Orange, Libero',
    words: `
      zu viele | empfangslimit* | trop de | limite de réception | demasiados | límite de recepción | troppi messaggi |
      limite di ricezione | muitas mensagens | limite de recebimento
    `,
  },
  {
    class: 'SOFT',
    source: 'a fault that passes: RFC 3463, class 4; Postfix and Exim while they try again',
    words: `
      try again later | temporar* | in the queue | vorübergehend | temporairement | temporalmente | temporaneamente
    `,
  },
  {
    class: 'SOFT',
    source: 'the provider did not try: suppression lists of Amazon SES, SendGrid, Mailgun, Postmark, SparkPost',
    words: 'suppression list* | suppressed | inactive recipient | did not send the message to this address',
  },
  {
    class: 'MESSAGE',
    source: 'the size: RFC 1870, message_size_limit of Postfix and Exim, Gmail 5.2.3 and 5.3.4',
    words: `
      too large | too big | message too long | message is too long | message size | size limit | size exceed* | line
      limit | fixed maximum | exceeds maximum | exceeded maximum | exceeds the maximum | exceeded the maximum | exceeding the
      maximum
    `,
  },
  {
    class: 'MESSAGE',
    source: 'the same in German: Exchange',
    words: 'nachricht zu groß | nachricht ist zu groß',
  },
  {
    class: 'MESSAGE',
    source: 'the same in French, Spanish, Italian and Portuguese: Exchange',
    words: 'trop volumineux | demasiado grande | troppo grande | muito grande',
  },
  {
    class: 'MESSAGE',
    source: 'the content: RFC 5322 and RFC 6152, Gmail 5.7.0, ClamAV and amavisd-new, Mimecast',
    words: `
      virus* | malware | infected | attachment* | bare lf | bare line feed* | illegal character* | duplicate header |
      8bit | 8-bit | content | as duplicate
    `,
  },
  {
    class: 'POLICY',
    source: 'the server declines: Postfix check_*_access and relay_domains, Exim deny, Exchange, Mimecast',
    words: `
      policy | policies | denied | deny | prohibit* | forbidden | permission* | not permitted | not allowed | not
      authori* | unauthori* | relay* | restricted | administratively | security | protocol violation | in my list of
      allowed | do not accept mail from | does not accept mail from | not accepting connections | invalid ip | from your
      country | geoblock* | local_scan | message filtered | quarantin*
    `,
  },
  {
    class: 'POLICY',
    source: 'a rule of the recipient: RFC 5429 (Sieve reject), Exchange',
    words: 'recipient refused your message | recipient rejected your message',
  },
  {
    class: 'HARD',
    source: 'no such user: Postfix unknown_*_recipient, Sendmail EX_NOUSER, Exim routers, Courier',
    words: `
      user unknown | user is unknown | unknown user | unknown local user | unknown local part | unknown local-part |
      unknown recipient | recipient unknown | unknown address | address unknown | addressee unknown | unknown mailbox
      | unknown account | unknown or illegal alias | unknown email address | unrouteable address | unrouteable mail
      domain
    `,
  },
  {
    class: 'HARD',
    source: 'no such host: RFC 3463, 5.1.2; RFC 7505 (null MX); Postfix smtp(8), Sendmail, Exim',
    words: `
      host unknown | unknown host | host not found | domain not found | domain name not found | no such domain | nxdomain |
      null mx | nullmx
    `,
  },
  {
    class: 'HARD',
    source: 'no such mailbox: qmail, vpopmail, Cyrus, Dovecot, OpenSMTPD, Zimbra, Domino, MDaemon, IMail',
    words: `
      no such user | no such mailbox | no such recipient | no such address | no such account | no such person | no
      such local user | no such email* | no mailbox | no local mailbox | no account by that name | no user by that
      name | not our customer | mailbox not found | mailbox unavailable | mailbox not available | mailbox is
      unavailable | mailbox invalid | mailbox disabled | mailbox is disabled | mailbox inactive | mailbox is inactive
      | mailbox closed | invalid mailbox | invalid recipient* | invalid-recipient | invalid user | invalid address |
      bad address | bad destination mailbox* | recipient not found | recipient invalid | recipient is not local | not
      a valid mailbox | not a valid user | not a valid recipient | not a known user | not a local user | not a local
      address | user not found | user not known | user disabled | not listed in domino directory | not listed in
      public name | address not found | account not found | account not available | account is disabled | account
      disabled | account closed | account has been disabled | account has been deleted | no longer available | no
      longer active | no longer valid | no longer in use | no longer exists | not exist | doesn't exist
    `,
  },
  {
    class: 'HARD',
    source: "the postmasters' pages of Yahoo, AOL, Gmail, Exchange, Outlook.com, Mimecast, Cisco and Apple",
    words: `
      doesn't have a * account | does not have a * account | recipientnotfound | recipnotfound |
      exrecipnotfound | couldn't be found | could not be found | wasn't found at | doesn't receive mail | does not
      receive mail | recipient not ok | #5.1.0 address rejected
    `,
  },
  {
    class: 'HARD',
    source: 'the same in German: Exchange, Open-Xchange, kopano',
    words: `
      empfänger unbekannt | unbekannter empfänger | benutzer unbekannt | unbekannter benutzer | adresse unbekannt |
      empfänger nicht gefunden | postfach deaktiviert | postfach nicht gefunden | postfach nicht vorhanden | existiert
      nicht
    `,
  },
  {
    class: 'HARD',
    source: 'the same in French: Exchange, Orange, La Poste',
    words: `
      utilisateur inconnu | destinataire inconnu | adresse inconnue | adresse d au moins un destinataire invalide |
      destinataire invalide | n'existe pas | introuvable
    `,
  },
  {
    class: 'HARD',
    source: 'the same in Spanish, Italian, Portuguese, Dutch, Polish, Russian, Japanese and Chinese: Exchange',
    words: `
      usuario desconocido | destinatario desconocido | no existe | utente sconosciuto | destinatario sconosciuto |
      utente inesistente | non esiste | usuário desconhecido | destinatário desconhecido | não existe | onbekende
      gebruiker | gebruiker onbekend | bestaat niet | nieznany użytkownik | nie istnieje | пользователь не найден | не
      существует | 存在しません | 宛先不明 | 用户不存在
    `,
  },
]

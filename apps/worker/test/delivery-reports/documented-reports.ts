/** Reports of many servers in short, written from the documentation or the sources that each row names. */
import { composeReport, fields, lines, mta, type Shape } from './compose-report.ts'

/** Source, status, response (`⏎`: a line break) and class of reports with a delivery status, and the code if it is not the status. */
const rows = `
  Postfix, ADDRESS_VERIFICATION | 5.1.1 | 550 5.1.1 <ada@example.com>: Recipient address rejected: undeliverable address: unknown user | HARD
  Postfix, virtual mailbox over limit | 5.2.2 | 552 5.2.2 <ada@example.com>: mailbox full | SOFT
  Postfix, reject_sender_login_mismatch | 5.7.1 | 553 5.7.1 <news@crm.example>: Sender address rejected: not owned by user | POLICY
  Postfix, reject_unverified_sender | 5.1.7 | 550 5.1.7 <news@crm.example>: Sender address rejected: undeliverable address: unknown user | POLICY
  Postfix, reject_unknown_sender_domain | 5.1.8 | 550 5.1.8 <news@crm.example>: Sender address rejected: Domain not found | POLICY
  Postfix, an old server refuses the sender as an unknown user | 5.1.1 | 550 5.1.1 <news@crm.example>: Sender address rejected: User unknown in local recipient table | POLICY
  Postfix, reject_unauth_pipelining | 5.5.0 | 503 5.5.0 <DATA>: Data command rejected: Improper use of SMTP command pipelining | POLICY
  Postfix, reject_non_fqdn_helo_hostname | 5.5.2 | 504 5.5.2 <crm>: Helo command rejected: need fully-qualified hostname | POLICY
  Postfix, reject_unknown_client_hostname | 5.7.25 | 550 5.7.25 Client host rejected: cannot find your hostname, [192.0.2.7] | POLICY
  Postfix, message_size_limit | 5.3.4 | 552 5.3.4 Message size exceeds fixed limit | MESSAGE
  Postfix, null MX (RFC 7505) | 5.1.10 | 556 5.1.10 Recipient address has null MX | HARD
  Exim, unknown user | 5.0.0 | 550 Unknown user | HARD
  Exim, a router fails | 5.0.0 | 550 Unrouteable address | HARD
  Exim, verify = sender | 5.0.0 | 550 Sender verify failed | POLICY
  Exim, dnslists | 5.0.0 | 550-192.0.2.7 is listed at zen.spamhaus.org⏎ 550 rejected | POLICY
  Exim, ratelimit | 5.0.0 | 550 Sender rate overlimit - 52.1 / 1h | SOFT
  Exim, a quota of appendfile | 5.2.2 | 552 mailbox is full (MTA-imposed quota exceeded while writing) | SOFT
  Exim, relay not permitted | 5.0.0 | 550 relay not permitted | POLICY
  Exim, retry timeout exceeded | 5.0.0 | 450 4.7.1 greylisted; retry timeout exceeded | SOFT | 4.7.1
  Exchange, 5.1.1 RecipNotFound | 5.1.1 | 550 5.1.1 RESOLVER.ADR.RecipNotFound; not found | HARD
  Exchange Online, 5.1.10 | 5.1.10 | 550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient lovelace@example.com not found by SMTP address lookup | HARD
  Exchange Online, 5.1.351 | 5.1.351 | 550 5.1.351 Remote server returned unknown recipient or mailing list | HARD
  Exchange Online, 5.1.351 without words | 5.1.351 | 550 5.1.351 | SOFT
  Exchange Online, 5.2.2 quota | 5.2.2 | 554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException; Failed to process message due to a permanent exception | SOFT
  Exchange Online, 5.2.121 too much at once | 5.2.121 | 550 5.2.121 RESOLVER.RULES.RecipientThreshold; Recipient rate limit | SOFT
  Exchange Online, 5.2.3 too large | 5.2.3 | 550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient | MESSAGE
  Exchange Online, 5.4.1 DMARC | 5.7.509 | 550 5.7.509 Access denied, sending domain crm.example does not pass DMARC verification | POLICY
  Exchange Online, 5.7.708 | 5.7.708 | 550 5.7.708 Access denied, traffic not accepted from this IP | POLICY
  Exchange Online, 5.7.750 | 5.7.750 | 550 5.7.750 Service unavailable. Client blocked from sending from unregistered domains | POLICY
  Outlook.com, S3140 | 5.7.1 | 550 5.7.1 Unfortunately, messages from [192.0.2.7] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3140) | POLICY
  Gmail, 5.2.1 disabled | 5.2.1 | 550 5.2.1 The email account that you tried to reach is disabled | HARD
  Gmail, 5.2.1 too much mail | 5.2.1 | 550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered | SOFT
  Gmail, 5.7.26 | 5.7.26 | 550 5.7.26 Unauthenticated email from crm.example is not accepted due to domain's DMARC policy | POLICY
  Gmail, 5.7.1 content | 5.7.1 | 550 5.7.1 Our system has detected that this message is likely unsolicited mail | POLICY
  Gmail, 5.3.4 | 5.3.4 | 552 5.3.4 Your message exceeded Google's message size limits | MESSAGE
  Gmail, 5.4.5 daily sending limit | 5.4.5 | 550 5.4.5 Daily user sending limit exceeded | SOFT
  Yahoo, 554 delivery error | 5.0.0 | 554 delivery error: dd This user doesn't have a yahoo.com account (ada@example.com) [0] | HARD
  Yahoo, 5.7.9 authentication | 5.7.9 | 554 5.7.9 Message not accepted for policy reasons | POLICY
  Yahoo, 553 blocked | 5.0.0 | 553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.7, because the ip is in Spamhaus list | POLICY | 5.7.1
  Yahoo, TSS04 | 4.7.0 | 421 4.7.0 [TSS04] Messages from 192.0.2.7 temporarily deferred due to unexpected volume or user complaints | POLICY
  Sendmail, a bare 550 is 5.1.1 by itself | 5.1.1 | 550 5.1.1 <ada@example.com>... User unknown | HARD
  Sendmail, a bare 550 for a policy | 5.1.1 | 550 DMARC check failed | POLICY
  Sendmail, access map | 5.7.1 | 550 5.7.1 <ada@example.com>... Relaying denied | POLICY
  Sendmail, host unknown | 5.1.2 | 550 5.1.2 <ada@example.com>... Host unknown (Name server: example.com.: host not found) | HARD
  Cisco, recipient access table | 5.1.0 | 550 #5.1.0 Address rejected. | HARD
  Cisco, SenderBase | 5.0.0 | 554 Your access to this mail system has been rejected due to the sending MTA’s poor reputation | POLICY
  Mimecast, invalid recipient | 5.0.0 | 550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550 | HARD
  Mimecast, blocked by policy | 5.0.0 | 550 Administrative prohibition - envelope blocked - https://community.mimecast.com/docs/DOC-1369#550 | POLICY
  Mimecast, anti-spoofing | 5.0.0 | 550 Rejected by header based Anti-Spoofing policy | POLICY
  Mimecast, quota of the package | 5.0.0 | 550 Package quota exceeded | SOFT
  Zimbra, lmtpproxyd | 5.1.1 | 550 5.1.1 <ada@example.com>: Recipient address rejected: example.com | HARD
  Zimbra, account over quota | 4.2.2 | 452 4.2.2 Over quota | SOFT
  Dovecot, LMTP | 5.1.1 | 550 5.1.1 <ada@example.com> User doesn't exist: ada@example.com | HARD
  denied by policy | 5.1.1 | 550 5.1.1 <ada@example.com> denied by policy | POLICY
  T-Online, in German | 5.0.0 | 550 Benutzer unbekannt / user unknown | HARD
  Orange, in French | 5.1.1 | 550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. | HARD
`

const splitRow = (row: string) =>
  row
    .replaceAll('⏎', '\r\n')
    .split(' | ')
    .map((cell) => cell.trim())

export const documentedReports: Shape[] = rows
  .trim()
  .split('\n')
  .map(splitRow)
  .map(([source = '', status = '', response = '', expected = '', code = status]) => [
    source,
    composeReport({
      headers: ['Auto-Submitted: auto-replied'],
      status: [
        mta('relay.example'),
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Action: failed',
          `Status: ${status}`,
          `Diagnostic-Code: smtp; ${response}`,
        ),
      ],
    }),
    { class: expected, code },
  ])

type TextRow = [source: string, options: Parameters<typeof composeReport>[0], expected: Shape[2]]

const textRows: TextRow[] = [
  [
    'Exchange 2016 in English, without a delivery status',
    {
      from: 'Microsoft Outlook <postmaster@example.com>',
      subject: 'Undeliverable: News',
      text: lines(
        'Delivery has failed to these recipients or groups:',
        '',
        'ada@example.com<mailto:ada@example.com>',
        "The email address you entered couldn't be found. For more tips see DSN code 5.1.1 in Exchange Online.",
        '',
        'Diagnostic information for administrators:',
        "Remote Server returned '550 5.1.1 RESOLVER.ADR.RecipNotFound; not found'",
        '',
        'Original message headers:',
        'Received: from crm.example',
      ),
    },
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'Exchange 2016 in German',
    {
      from: 'Microsoft Outlook <postmaster@example.com>',
      subject: 'Unzustellbar: Neues',
      text: lines(
        'Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Gruppen:',
        'ada@example.com',
        'Das Postfach des Empfängers ist voll und kann zurzeit keine Nachrichten annehmen.',
        '',
        'Diagnoseinformationen für Administratoren:',
        "Remote Server returned '554 5.2.2 mailbox full'",
      ),
    },
    { class: 'SOFT', code: '5.2.2' },
  ],
  [
    'Exchange 2016 in French',
    {
      from: 'Microsoft Outlook <postmaster@example.com>',
      subject: 'Non remis : Nouvelles',
      text: lines(
        'Échec de la remise à ces destinataires ou groupes :',
        'ada@example.com',
        'L’adresse e-mail entrée est introuvable.',
        '',
        'Informations de diagnostic pour les administrateurs :',
        "Remote Server returned '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup'",
      ),
    },
    { class: 'HARD', code: '5.1.10' },
  ],
  [
    'qmail, a server that does not know its sender',
    {
      subject: 'failure notice',
      text: lines(
        'Hi. This is the qmail-send program at mx.example.',
        '',
        '<ada@example.com>:',
        'Connected to 192.0.2.1 but sender was rejected.',
        'Remote host said: 550 5.1.1 unknown sender',
        '',
        '--- Below this line is a copy of the message.',
      ),
    },
    { class: 'POLICY', code: '5.1.1' },
  ],
  [
    'Exim, the command in the line before the response',
    {
      headers: ['X-Failed-Recipients: ada@example.com', 'Auto-Submitted: auto-replied'],
      text: lines(
        'A message that you sent could not be delivered to one or more of its recipients.',
        '',
        '  ada@example.com',
        '    SMTP error from remote mail server after pipelined MAIL FROM:<b+token@bounces.example> SIZE=1022:',
        '    553 5.1.0 crm.example does not exist',
      ),
    },
    { class: 'POLICY', code: '5.1.0' },
  ],
  [
    'Sendmail, a transcript without a delivery status',
    {
      from: 'Mail Delivery Subsystem <MAILER-DAEMON>',
      subject: 'Returned mail: see transcript for details',
      headers: ['Auto-Submitted: auto-generated (failure)'],
      text: lines(
        '   ----- The following addresses had permanent fatal errors -----',
        '<ada@example.com>',
        '',
        '   ----- Transcript of session follows -----',
        '... while talking to mx.example.:',
        '>>> RCPT To:<ada@example.com>',
        '<<< 550 5.1.1 <ada@example.com>... User unknown',
        '',
        '   ----- Original message follows -----',
        'Return-Path: <b+token@bounces.example>',
      ),
    },
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'a gateway that sends the delivery status as text',
    {
      from: 'postmaster',
      text: lines(
        'Reporting-MTA: dns; mx.example',
        '',
        'Final-Recipient: rfc822; ada@example.com',
        'Action: failed',
        'Status: 5.1.1',
        'Diagnostic-Code: smtp; 550 5.1.1 unknown',
      ),
    },
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'a sender without an address',
    { from: '<>', subject: 'failure notice', text: '<ada@example.com>: 550: <ada@example.com>: User unknown' },
    { class: 'HARD', code: '550' },
  ],
]

export const documentedTexts: Shape[] = textRows.map(([source, options, expected]) => [
  source,
  composeReport(options),
  expected,
])

/** Reports of other mail servers and in other languages, written from their documentation and sources. */
import { composeReport, fields, lines, mta, type Shape } from './compose-report.ts'

export const otherServers: Shape[] = [
  [
    'Exim with a delivery status',
    composeReport({
      headers: ['Auto-Submitted: auto-replied', 'X-Failed-Recipients: ada@example.com'],
      subject: 'Mail delivery failed: returning message to sender',
      status: [
        'Reporting-MTA: dns; exim.example',
        fields(
          'Action: failed',
          'Final-Recipient: rfc822;ada@example.com',
          'Status: 5.0.0',
          'Remote-MTA: dns; mx.example',
          'Diagnostic-Code: smtp; 550-5.1.1 no mailbox\r\n 550 5.1.1 see https://mx.example',
        ),
      ],
    }),
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'Exim without a delivery status',
    composeReport({
      headers: ['Auto-Submitted: auto-replied', 'X-Failed-Recipients: ada@example.com'],
      subject: 'Mail delivery failed: returning message to sender',
      text: lines(
        'A message that you sent could not be delivered.',
        '',
        '  ada@example.com',
        '    SMTP error from remote mail server:',
        '    550 5.1.1 unknown',
      ),
    }),
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'Gmail, address not found',
    composeReport({
      from: 'Mail Delivery Subsystem <mailer-daemon@googlemail.example>',
      subject: 'Delivery Status Notification (Failure)',
      headers: ['Auto-Submitted: auto-replied', 'X-Failed-Recipients: ada@example.com'],
      status: [
        'Reporting-MTA: dns; googlemail.example\r\nArrival-Date: Thu, 26 Nov 2026 00:00:00 -0800 (PST)',
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Action: failed',
          'Status: 5.1.1',
          'Remote-MTA: dns; gmail-smtp-in.l.google.example. (2a00:1450:4013:c14::1a, the server)',
          'Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist.',
          ' 550 5.1.1  https://support.google.example/mail/?p=NoSuchUser - gsmtp',
        ),
      ],
    }),
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'Gmail, over quota',
    composeReport({
      status: [
        mta('googlemail.example'),
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Action: failed',
          'Status: 5.2.2',
          'Diagnostic-Code: smtp; 552-5.2.2 The email account that you tried to reach is over quota',
        ),
      ],
    }),
    { class: 'SOFT', code: '5.2.2' },
  ],
  [
    'Yahoo, mailbox not found',
    composeReport({
      status: [
        mta('relay.example'),
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Action: failed',
          'Status: 5.0.0',
          'Diagnostic-Code: smtp; 552 1 Requested mail action aborted, mailbox not found',
        ),
      ],
    }),
    { class: 'HARD', code: '5.0.0' },
  ],
  [
    'qmail without any delivery status',
    composeReport({
      subject: 'failure notice',
      text: lines(
        'Hi. This is the qmail-send program at mx.example.',
        "I'm afraid I wasn't able to deliver your message to the following addresses.",
        "This is a permanent error; I've given up. Sorry it didn't work out.",
        '',
        '<ada@example.com>:',
        'Sorry, no mailbox here by that name. (#5.1.1)',
        '',
        '--- Below this line is a copy of the message.',
        '',
        '<other@victim.example>:',
        '550 5.7.1 quoted',
      ),
    }),
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'qmail, a reason of several lines',
    composeReport({
      subject: 'failure notice',
      text: lines(
        'Hi. This is the qmail-send program at mx.example.',
        '',
        '<ada@example.com>:',
        '192.0.2.1 does not like recipient.',
        'Remote host said: 550 5.1.1 User unknown',
        'Giving up on 192.0.2.1.',
        '',
        '--- Below this line is a copy of the message.',
      ),
    }),
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'qmail, of two recipients',
    composeReport({
      subject: 'failure notice',
      text: lines(
        'Hi. This is the qmail-send program at mx.example.',
        '',
        '<eve@example.com>:',
        'Sorry, no mailbox here by that name. (#5.1.1)',
        '',
        '<ada@example.com>:',
        'Sorry, the mailbox is over its quota. (#5.2.2)',
        '',
        '--- Below this line is a copy of the message.',
      ),
    }),
    { class: 'SOFT', code: '5.2.2' },
  ],
  [
    'sendmail, message too large',
    composeReport({
      subject: 'Returned mail: see transcript for details',
      headers: ['Auto-Submitted: auto-generated (failure)'],
      status: [
        'Reporting-MTA: dns; sendmail.example\r\nReceived-From-MTA: DNS; relay.example',
        fields(
          'Final-Recipient: RFC822; ada@example.com',
          'Action: failed',
          'Status: 5.3.4',
          'Diagnostic-Code: SMTP; 552 5.3.4 Message size exceeds fixed limit',
        ),
      ],
    }),
    { class: 'MESSAGE', code: '5.3.4' },
  ],
  [
    'a report in German',
    composeReport({
      subject: '=?utf-8?Q?Unzustellbar=3A_Neues?=',
      text: 'Ihre Nachricht konnte nicht zugestellt werden. Das Postfach ist deaktiviert.',
      encoding: 'base64',
      status: [
        mta('mx.example'),
        fields(
          'Final-Recipient: rfc822;ada@example.com',
          'Action: failed',
          'Status: 5.2.1',
          'Diagnostic-Code: smtp;550 5.2.1 Postfach deaktiviert',
        ),
      ],
    }),
    { class: 'HARD', code: '5.2.1' },
  ],
  [
    'a report in French',
    composeReport({
      subject: 'Échec de la remise',
      text: "Votre message n'a pas pu être remis : la boîte de réception est pleine.",
      status: [
        mta('mx.example'),
        fields(
          'Final-Recipient: rfc822;ada@example.com',
          'Action: failed',
          'Status: 4.2.2',
          'Diagnostic-Code: smtp;452 4.2.2 Boîte pleine',
        ),
      ],
    }),
    { class: 'SOFT', code: '4.2.2' },
  ],
  [
    'a report in Japanese',
    composeReport({
      subject: '配信不能',
      text: 'メッセージを配信できませんでした。',
      status: [
        mta('mx.example'),
        fields(
          'Final-Recipient: rfc822;ada@example.com',
          'Action: failed',
          'Status: 5.6.1',
          'Diagnostic-Code: smtp;554 5.6.1 メッセージの形式',
        ),
      ],
    }),
    { class: 'MESSAGE', code: '5.6.1' },
  ],
  [
    'a mail server that sends plain text',
    composeReport({ from: 'postmaster@mx.example', text: 'Die Nachricht kam nicht an.\r\n550 Empfänger unbekannt' }),
    { class: 'HARD', code: '550' },
  ],
]

/** Reports of RFC 3464, Postfix, Exchange and Outlook.com, written from their documentation and sources. */
import { composeReport, fields, mta, type Shape } from './compose-report.ts'

export const postfixAndExchange: Shape[] = [
  [
    'RFC 3464, simple',
    composeReport({
      headers: ['Auto-Submitted: auto-replied'],
      status: [
        mta('cs.utk.edu'),
        fields(
          'Original-Recipient: rfc822;ada@example.com',
          'Final-Recipient: rfc822;ada@example.com',
          'Action: failed',
          'Status: 4.0.0',
          'Diagnostic-Code: smtp; 426 connection timed out',
          'Last-Attempt-Date: Thu, 7 Jul 1994 17:15:49 -0400',
        ),
      ],
    }),
    { class: 'SOFT', code: '4.0.0' },
  ],
  [
    'RFC 3464, gateway to a foreign system',
    composeReport({
      status: [
        'Reporting-MTA: mailbus; SYS30',
        fields('Final-Recipient: unknown; nair_s', 'Status: 5.0.0 (unknown permanent failure)', 'Action: failed'),
      ],
    }),
    { class: 'SOFT', code: '5.0.0' },
  ],
  [
    'Postfix, unknown user',
    composeReport({
      headers: ['Auto-Submitted: auto-replied'],
      text: '<ada@example.com>: host mx.example[192.0.2.1] said: 550 5.1.1 User unknown (in reply to RCPT TO command)',
      status: [
        `${mta('relay.example')}\r\nX-Postfix-Queue-ID: 4XyZ\r\nX-Postfix-Sender: rfc822; b+token@bounces.example`,
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Original-Recipient: rfc822;ada@example.com',
          'Action: failed',
          'Status: 5.1.1',
          'Remote-MTA: dns; mx.example',
          'Diagnostic-Code: smtp; 550 5.1.1 <ada@example.com>: Recipient address rejected:',
          '    User unknown in virtual mailbox table',
        ),
      ],
    }),
    { class: 'HARD', code: '5.1.1' },
  ],
  [
    'Postfix, a response without an enhanced code',
    composeReport({
      status: [
        mta('relay.example'),
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Action: failed',
          'Status: 5.0.0',
          'Diagnostic-Code: smtp; 550 No such user',
        ),
      ],
    }),
    { class: 'HARD', code: '5.0.0' },
  ],
  [
    'Postfix, expired in the queue',
    composeReport({
      status: [
        mta('relay.example'),
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Action: failed',
          'Status: 4.4.1',
          'Diagnostic-Code: X-Postfix; connect to mx.example[5.1.1.9]:25: Connection timed out',
        ),
      ],
    }),
    { class: 'SOFT', code: '4.4.1' },
  ],
  [
    'Postfix, UTF-8 addresses (RFC 6533)',
    composeReport({
      statusType: 'message/global-delivery-status',
      status: [
        mta('relay.example'),
        fields(
          'Final-Recipient: utf-8; ada@example.com',
          'Action: failed',
          'Status: 5.2.1',
          'Diagnostic-Code: smtp; 550 5.2.1 Désactivé',
        ),
      ],
    }),
    { class: 'HARD', code: '5.2.1' },
  ],
  [
    'Exchange Online, recipient not found',
    composeReport({
      from: 'Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@contoso.example>',
      subject: 'Undeliverable: News',
      status: [
        'Reporting-MTA: dns;DB7PR05MB.eurprd05.prod.outlook.example\r\nReceived-From-MTA: dns;relay.example',
        fields(
          'Original-Recipient: rfc822;ada@example.com',
          'Final-Recipient: rfc822;ada@example.com',
          'Action: failed',
          'Status: 5.1.10',
          'Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
        ),
      ],
    }),
    { class: 'HARD', code: '5.1.10' },
  ],
  [
    'Exchange Online, access denied',
    composeReport({
      subject: 'Undeliverable: News',
      status: [
        mta('mail.example'),
        fields(
          'Final-Recipient: rfc822;ada@example.com',
          'Action: failed',
          'Status: 5.4.1',
          'Diagnostic-Code: smtp;550 5.4.1 Recipient address rejected: Access denied.',
        ),
      ],
    }),
    { class: 'HARD', code: '5.4.1' },
  ],
  [
    'Exchange Online, sender not authorized',
    composeReport({
      subject: 'Undeliverable: News',
      status: [
        mta('mail.example'),
        fields(
          'Final-Recipient: rfc822;ada@example.com',
          'Action: failed',
          'Status: 5.7.133',
          'Diagnostic-Code: smtp;550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup',
        ),
      ],
    }),
    { class: 'POLICY', code: '5.7.133' },
  ],
  [
    'Outlook.com, a blocked network',
    composeReport({
      status: [
        mta('relay.example'),
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Action: failed',
          'Status: 5.7.1',
          "Diagnostic-Code: smtp; 550 5.7.1 Unfortunately, messages from [192.0.2.7] weren't sent. Your network is on our block list (S3150).",
        ),
      ],
    }),
    { class: 'POLICY', code: '5.7.1' },
  ],
  [
    'Outlook.com, mailbox unavailable',
    composeReport({
      status: [
        mta('relay.example'),
        fields(
          'Final-Recipient: rfc822; ada@example.com',
          'Action: failed',
          'Status: 5.5.0',
          'Diagnostic-Code: smtp; 550 5.5.0 Requested action not taken: mailbox unavailable',
        ),
      ],
    }),
    { class: 'HARD', code: '5.5.0' },
  ],
]

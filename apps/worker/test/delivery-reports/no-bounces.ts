/** Mails to a return path that report no bounce. */
import { composeReport, fields, mta, type Shape } from './compose-report.ts'

export const noBounces: Shape[] = [
  [
    'a report of a delay',
    composeReport({
      subject: 'Delayed Mail (still being retried)',
      status: [
        mta('relay.example'),
        fields('Final-Recipient: rfc822; ada@example.com', 'Action: delayed', 'Status: 4.4.1'),
      ],
    }),
    undefined,
  ],
  [
    'a report of a relay',
    composeReport({
      status: [
        mta('r.example'),
        fields('Final-Recipient: rfc822; ada@example.com', 'Action: relayed', 'Status: 2.0.0'),
      ],
    }),
    undefined,
  ],
  [
    'a report of a delivery',
    composeReport({
      status: [
        mta('r.example'),
        fields('Final-Recipient: rfc822; ada@example.com', 'Action: delivered', 'Status: 2.1.5'),
      ],
    }),
    undefined,
  ],
  [
    'a warning of Exim',
    composeReport({ subject: 'Warning: message 1abc delayed 24 hours', text: '451 4.7.1 greylisted' }),
    undefined,
  ],
  [
    'an out-of-office reply',
    composeReport({
      from: 'Ada <ada@example.com>',
      subject: 'Out of office: News',
      headers: ['Auto-Submitted: auto-replied', 'X-Auto-Response-Suppress: All'],
      text: 'I am away. 550 5.1.1 is no answer.',
    }),
    undefined,
  ],
  [
    'an automatic reply of a mail server',
    composeReport({ from: 'postmaster@mx.example', headers: ['Auto-Submitted: auto-replied'], text: '550 5.1.1' }),
    undefined,
  ],
  [
    'an email of Rapport itself',
    composeReport({
      from: 'News <news@crm.example>',
      subject: '550 5.1.1 and other news',
      headers: ['Auto-Submitted: auto-generated', 'Feedback-ID: 1:2:account:rapport'],
    }),
    undefined,
  ],
  ['a reply of a person', composeReport({ from: 'ada@example.com', subject: 'Re: News', text: 'Thanks!' }), undefined],
]

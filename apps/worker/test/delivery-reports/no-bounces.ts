/** Mails to a return path that report no bounce. */
import { composeReport, fields, mta, type Shape } from './compose-report.ts'

const otherMails: Shape[] = [
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

/** The subjects of automatic replies and of read receipts, as Exchange, Gmail and Open-Xchange write them. */
const replies: Readonly<Record<string, string>> = {
  English: 'Automatic reply: News',
  German: 'Automatische Antwort: Neues',
  French: 'Réponse automatique : Nouvelles',
  Spanish: 'Respuesta automática: Noticias',
  Italian: 'Risposta automatica: Novità',
  Portuguese: 'Resposta automática: Notícias',
  Dutch: 'Automatisch antwoord: Nieuws',
  Swedish: 'Autosvar: Nyheter',
  Danish: 'Autosvar: Nyheder',
  Finnish: 'Automaattinen vastaus: Uutiset',
  Polish: 'Automatyczna odpowiedź: Nowości',
  Czech: 'Automatická odpověď: Novinky',
  Hungarian: 'Automatikus válasz: Hírek',
  Greek: 'Αυτόματη απάντηση: Νέα',
  Turkish: 'Otomatik yanıt: Haberler',
  Russian: 'Автоматический ответ: Новости',
  Ukrainian: 'Автоматична відповідь: Новини',
  Hebrew: 'תשובה אוטומטית: חדשות',
  Arabic: 'رد تلقائي: أخبار',
  Hindi: 'स्वचालित उत्तर: समाचार',
  Thai: 'ตอบกลับอัตโนมัติ: ข่าว',
  Japanese: '自動応答: ニュース',
  Chinese: '自动答复: 新闻',
  Korean: '자동 회신: 뉴스',
}

/** The subjects of reports of a delay. */
const delays: Readonly<Record<string, string>> = {
  English: 'Delivery delayed: News',
  German: 'Zustellung verzögert: Neues',
  French: 'Remise différée : Nouvelles',
  Spanish: 'Entrega retrasada: Noticias',
  Italian: 'Recapito in ritardo: Novità',
  Dutch: 'Bezorging vertraagd: Nieuws',
  Polish: 'Opóźnione dostarczenie: Nowości',
  Russian: 'Доставка отложена: Новости',
  Greek: 'Καθυστέρηση παράδοσης: Νέα',
  Japanese: '配信遅延: ニュース',
  Chinese: '传递延迟: 新闻',
}

const phone = 'I am back on 5 May. Call +49 30 550 5.1.1'

const inLanguages: Shape[] = [
  ...Object.entries(replies).flatMap(([language, subject]): Shape[] => [
    [
      `an automatic reply of a person in ${language}`,
      composeReport({ from: 'ada@example.com', subject, text: phone }),
      undefined,
    ],
    [
      `an automatic reply of a postmaster in ${language}`,
      composeReport({
        from: 'postmaster@example.com',
        headers: ['Auto-Submitted: auto-replied'],
        subject,
        text: phone,
      }),
      undefined,
    ],
    [
      `a read receipt in ${language}`,
      composeReport({
        from: 'postmaster@example.com',
        subject,
        statusType: 'message/disposition-notification',
        status: [
          fields(
            'Final-Recipient: rfc822;ada@example.com',
            'Disposition: automatic-action/MDN-sent-automatically; deleted',
          ),
        ],
      }),
      undefined,
    ],
  ]),
  ...Object.entries(delays).map(
    ([language, subject]): Shape => [
      `a delay without a delivery status in ${language}`,
      composeReport({ subject, text: `${subject}\r\nada@example.com: 451 4.4.1 mx.example` }),
      undefined,
    ],
  ),
]

export const noBounces: Shape[] = [...otherMails, ...inLanguages]

const words =
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore'
const article = (n: number) => `<tr><td style="padding:16px 24px;font:16px/1.5 Arial,sans-serif;color:#333">
<h2 style="margin:0 0 8px">Story number ${n} of this month</h2>
<p style="margin:0 0 8px">${words}, ${words}, ${words}.</p>
<p style="margin:0">${n % 6 === 0 ? '{{ contact.firstName }}, what' : 'What'} do you think? <a href="https://example.com/stories/${n}?from=news&amp;n=${n}" style="color:#2f5bea">Read on</a></p>
</td></tr>
`

/** A newsletter of about 20 KB that is different for each recipient. */
export const newsletter = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>News</title></head>
<body style="margin:0;background:#f6f7f9"><table role="presentation" width="100%">
<tr><td><h1>Hello {{ contact.firstName }} {{ contact.lastName }},</h1></td></tr>
${Array.from({ length: 27 }, (_, n) => article(n)).join('')}
<tr><td>See you next month, {{ contact.firstName }}. <a href="{{ unsubscribeUrl }}">Unsubscribe</a></td></tr>
</table></body></html>
`

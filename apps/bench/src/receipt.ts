const line = '<tr><td>{{ line.name }}</td><td style="text-align:right">{{ line.price }}</td></tr>'

/** The template of a receipt of about 3 KB. */
export const receiptTemplate = {
  name: 'Receipt',
  subject: 'Receipt for {{ data.name }}',
  html: `<!doctype html><html lang="en"><body><h1>Thank you, {{ data.name }}</h1>
<table>{% for line in data.lines %}${line}{% endfor %}</table></body></html>`,
  variables: [
    { name: 'name', type: 'TEXT', example: 'Ada' },
    { name: 'lines', type: 'LIST', example: [{ name: 'Tea', price: '3.00' }] },
  ],
  ground: 'CONTRACT',
}

export const receiptLines = Array.from({ length: 30 }, (_, n) => ({ name: `Article number ${n}`, price: `${n}.90` }))

/** The email without a template, as a program would compose it. */
export const composeReceipt = (name: string) => ({
  subject: `Receipt for ${name}`,
  html: `<!doctype html><html lang="en"><body><h1>Thank you, ${name}</h1>
<table>${receiptLines.map((one) => `<tr><td>${one.name}</td><td style="text-align:right">${one.price}</td></tr>`).join('')}</table></body></html>`,
  text: [`Thank you, ${name}`, ...receiptLines.map((one) => `${one.name} ${one.price}`)].join('\n'),
})

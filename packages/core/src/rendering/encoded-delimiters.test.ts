import { expect, test } from 'vitest'
import { findFaults } from './check-template.ts'

test.each([
  ['<p>\n<a href="https://example.com/%7B%7B contact.firstName %7D%7D">', '%7B%7B', 2, 30],
  ['https://example.com/?a=%7b%7b%20contact.email%20%7d%7d', '%7b%7b%20', 1, 24],
  ['<p>&#123;&#123;contact.firstName&#125;&#125;', '&#123;&#123;', 1, 4],
  ['&#x7B;&#x7b; contact.firstName }}', '&#x7B;&#x7b;', 1, 1],
  ['&lcub;&lbrace; contact.firstName', '&lcub;&lbrace;', 1, 1],
  ['%7B%25 if contact.firstName %25%7D', '%7B%25', 1, 1],
  ['&#123;% if contact.firstName %}', '&#123;%', 1, 1],
])('%s has an encoded delimiter, with line and column', (html, ...[found, line, column]) => {
  const message = `"${found}" is an encoded "{{" or "{%": write it unencoded at line ${line}, column ${column}`
  expect(findFaults({ html }, { customFieldKeys: [] })).toEqual([{ field: 'html', message }])
})

test.each([
  ['<p>\nHello *|FNAME|*', '*|FNAME|*', 2, 7],
  ['*|MC:SUBJECT|*', '*|MC:SUBJECT|*', 1, 1],
  ['Hi %%first_name%%', '%%first_name%%', 1, 4],
  ['Hi %recipient.name%', '%recipient.name%', 1, 4],
  ['<%= contact.firstName %>', '<%= contact.firstName %>', 1, 1],
  ['{ {contact.firstName}}', '{ {contact.firstName', 1, 1],
  [String.raw`\{\{ contact.firstName \}\}`, String.raw`\{\{ contact.firstName`, 1, 1],
  ['｛｛ contact.firstName ｝｝', '｛｛ contact.firstName', 1, 1],
  ['${contact.firstName}', '${contact.firstName', 1, 1],
  ['[[contact.firstName]]', '[[contact.firstName', 1, 1],
])('%s is a tag of another system, with line and column', (html, ...[found, line, column]) => {
  const message = `"${found}" is not Liquid: write a variable as {{ contact.firstName }} at line ${line}, column ${column}`
  expect(findFaults({ html }, { customFieldKeys: [] })).toEqual([{ field: 'html', message }])
})

test.each([
  'Save 50%% and 100%, a*|b|c* [[1]] ${5} <b>%</b> contact.us@example.com',
  '<style>@media print{ a{color:red} }\n{ list.item }</style><!--[if mso]>x<![endif]-->',
  '{{ contact.firstName }} {% if contact.email %}{{"a"}}{%- endif -%}',
  '<a href="https://example.com/?filter=%7B%22a%22:1%7D">100 %7B',
  '<style>@media print{a{color:red}}</style>&#123; &#123;',
  '%7B%7B%7D%7D &#123;&#125;',
])('%s has no encoded delimiter', (html) => expect(findFaults({ html }, { customFieldKeys: [] })).toEqual([]))

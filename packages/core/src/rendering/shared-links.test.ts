import { expect, test } from 'vitest'
import { findSharedLinks } from './shared-links.ts'
import { compileTemplates } from './compile-templates.ts'

const contact = {
  id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
  email: 'ada@example.com',
  firstName: 'Ada',
  seats: 0,
  tags: ['vip'],
  customFieldValues: { seats: 0, plan: 'pro' },
}
const values = {
  contact,
  campaign: { name: 'Spring' },
  list: { name: 'News' },
  workspace: { name: 'Engines' },
  unsubscribeUrl: 'https://crm.example.com/public/unsubscribe?token=x',
  locale: 'en',
  preferencesUrl: 'https://crm.example.com/public/preferences?token=x',
}

/** The links of a mail with this address, which are the same for every recipient. */
function sharedLinks(href: string): string[] {
  const html = `<p>Hi</p><a href="${href}">x</a> {{ unsubscribeUrl }}`
  return [...findSharedLinks(compileTemplates({ subject: 'News', html, text: null }), [{ values }, { values }])]
}

test.each([
  'https://example.com/',
  'https://example.com/?n={{ campaign.name }}&l={{ list.name }}&w={{ workspace.name }}',
  '{% if contact.firstName %}https://example.com/known{% endif %}',
])('%s is the same for every recipient', (href) => {
  expect(sharedLinks(href)).toEqual([expect.stringMatching(/^https:\/\/example\.com\/[^{]*$/)])
})

test.each([
  'https://example.com/?e={{ contact.email }}',
  'https://example.com/?e={{ contact.email | url_encode | upcase }}',
  'https://example.com/?l={{ contact.firstName | size }}',
  'https://example.com/?f={{ contact.firstName | default: "friend" }}',
  'https://example.com/?p={{ contact.customFieldValues.plan | slice: 0 }}',
  'https://example.com/?{% for tag in contact.tags %}{{ tag }}{% endfor %}',
  'https://example.com/{{ contact.id }}',
  'https://example.com/?s={{ contact.seats }}',
  'https://{{ contact.firstName }}.example.com/',
  'https://example.com/?u={{ unsubscribeUrl | url_encode }}',
  'https://example.com/?u={{ preferencesUrl | url_encode }}',
  'https://example.com/?l={{ locale }}',
])('%s contains a value of the contact', (href) => {
  expect(sharedLinks(href)).toEqual([])
})

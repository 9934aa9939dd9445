import { languages } from '@rapport/core/kernel/values/languages.ts'
import { checkAppearance, findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createList } from './public-form.ts'
import { type Stack, startStack } from './stack.ts'

/** What the button of the page grants: only what is ticked, besides the newsletter. */
const combinations = [
  { ticked: [], opens: 'UNKNOWN', clicks: 'UNKNOWN', said: 'You will receive' },
  { ticked: ['opens'], opens: 'GRANTED', clicks: 'UNKNOWN', said: 'may record when you open its emails from now on' },
  { ticked: ['clicks'], opens: 'UNKNOWN', clicks: 'GRANTED', said: 'may record when you click links' },
  {
    ticked: ['opens', 'clicks'],
    opens: 'GRANTED',
    clicks: 'GRANTED',
    said: 'when you open its emails and click links',
  },
] as const

describe.skipIf(findBrowserSkipReason())('the page of a confirmation without JavaScript:', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let shown: Page
  let formId: string
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    shown = await browser.newPage({ bypassCSP: true })
    ;({ key } = await stack.api.createWorkspace())
    const list = await createList(stack.api, key)
    const fields = [
      { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
      { id: 'news', label: 'Send me the newsletter', type: 'CONSENT' },
      { id: 'tracking', label: 'Record what I open and click', type: 'CONSENT', purpose: 'TRACKING' },
    ]
    const form = { name: 'Newsletter', listId: list.id, fields }
    formId = (await stack.api.call<{ id: string }>('POST', '/forms', { key, body: form })).body.id
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  /** Submits the form with every box ticked. Returns the link in the text part of the mail. */
  async function signUp(email: string, locale = 'en'): Promise<{ text: string; link: string }> {
    const body = { values: { email, news: true, tracking: true } }
    await stack.api.call('POST', `/public/forms/${formId}/submit?lang=${locale}`, { body })
    const { text } = await stack.inbox.waitFor((mail) => mail.to.includes(email))
    return { text, link: /https?:\/\/\S+/.exec(text)?.[0] ?? '' }
  }

  async function expectAccessible(page: Page, name: string): Promise<void> {
    await shown.setContent(await page.content())
    expect(await checkAppearance(shown, name)).toEqual([])
  }

  test.each(combinations)(
    'with $ticked ticked, it grants that and the newsletter',
    async ({ ticked, said, ...choices }) => {
      const email = `ticks-${['mail', ...ticked].join('-')}@example.com`
      const { text, link } = await signUp(email)
      expect(text).toContain(
        'you can also allow Engines & Co to record when you open its emails and click links in them',
      )
      const page = await browser.newPage({ javaScriptEnabled: false, locale: 'en' })
      await page.goto(link)
      await page.getByRole('group', { name: 'What may be recorded' }).waitFor()
      expect(await page.getByRole('checkbox').count()).toBe(2)
      expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0)
      for (const name of ticked) await page.check(`#${name}`)
      await page.getByRole('button', { name: 'Confirm subscription' }).click()
      await page.getByText(said).waitFor()
      await expectAccessible(page, `confirmed, ${ticked.join(' and ')}`)
      await page.close()
      const { data } = (await stack.api.call<{ data: { id: string }[] }>('GET', `/contacts?email=${email}`, { key }))
        .body
      const contact = `/contacts/${data[0]?.id}`
      const read = async (path: string) => (await stack.api.call(`GET`, path, { key })).body
      expect(await read(contact)).toMatchObject({ emailSubscribedStatus: 'SUBSCRIBED' })
      expect(await read(`${contact}/tracking-consent`)).toMatchObject(choices)
    },
  )

  // At the gate, the default, and the language with the longest words.
  test.each(isFullRun ? languages : ['en', 'de'])(
    'is accessible in %s, on phone and desktop, in light and dark',
    async (locale) => {
      const { link } = await signUp(`${locale}@example.com`, locale)
      const page = await browser.newPage({ javaScriptEnabled: false, locale })
      await page.goto(link)
      expect(await page.getAttribute('html', 'lang')).toBe(locale)
      await expectAccessible(page, `confirm with boxes, ${locale}`)
      await page.close()
    },
  )
})

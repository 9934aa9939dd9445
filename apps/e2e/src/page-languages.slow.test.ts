import { checkAppearance, findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createForm, createList, type Form } from './public-form.ts'
import { startSite } from './test-site.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('accessible on phone and desktop, in light and dark mode, in', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let page: Page
  let form: Form
  let listId: string
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
    form = await createForm(stack.api, key)
    listId = (await createList(stack.api, key)).id
  })
  beforeEach(async () => {
    page = await browser.newPage({ bypassCSP: true })
    return () => page.close()
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  /** Enters values that the browser accepts and the form rejects. */
  async function makeMistakes() {
    await page.getByLabel('Email').fill('ada@localhost')
    await page.getByLabel('Phone').fill('please write')
    await page.getByLabel('Your message').fill(' ')
  }

  test.each(['de', 'fr', 'es', 'it', 'pt'])(
    '%s: a form with mistakes, a subscription and its mail',
    async (language) => {
      const expectAccessible = async (name: string, shown?: 'mail') =>
        expect(await checkAppearance(page, `${name}, ${language}`, shown)).toEqual([])

      await page.goto(`${stack.api.url}/f/${form.id}?lang=${language}`)
      await makeMistakes()
      await page.locator('main button').click()
      await page.getByRole('alert').waitFor()
      await expectAccessible('form with mistakes')

      const email = `${language}@example.com`
      await stack.api.call('POST', `/public/lists/${listId}/subscribe?lang=${language}`, { body: { email } })
      const { html, text } = await stack.inbox.waitFor(({ to }) => to.includes(email))
      await page.goto('about:blank')
      await page.setContent(html)
      await expectAccessible('mail, confirmation', 'mail')
      await page.goto(/https?:\/\/[^\s\]]+/.exec(text)?.[0] ?? '')
      expect(await page.locator('html').getAttribute('lang')).toBe(language)
      await expectAccessible('confirm')
      await page.getByRole('button').click()
      await page.getByRole('link').waitFor()
      await expectAccessible('confirmed')
      await page.getByRole('link').click()
      await page.getByRole('button').click()
      await page.locator('button.secondary').waitFor()
      await expectAccessible('unsubscribed')
      await page.goto(`${stack.api.url}/forgot-password?lang=${language}`)
      await expectAccessible('forgot password')
    },
  )

  test('the language of the website around it: an embedded form', async () => {
    const script = `<script src="${stack.api.url}/embed/form.js"></script>`
    const site = await startSite({
      '/': { body: `${script}<div lang="de-CH"><rapport-form form-id="${form.id}"></rapport-form></div>` },
    })
    await page.goto(site.url)
    await page.getByRole('button', { name: 'Absenden' }).waitFor()
    await makeMistakes()
    await page.getByRole('button', { name: 'Absenden' }).click()
    await page.locator('p.problem').getByText('Bitte füllen Sie dieses Feld aus.').first().waitFor()
    expect(await page.locator('rapport-form form').getAttribute('lang')).toBe('de-CH')
    await site.close()
  })
})

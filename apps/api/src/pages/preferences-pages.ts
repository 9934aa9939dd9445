import { invalidToken } from '@rapport/core/kernel/errors.ts'
import { Id, type ListId } from '@rapport/core/kernel/ids.ts'
import {
  askToReturn,
  leaveListByPreferences,
  stopAllMail,
} from '@rapport/core/operations/preferences/change-preferences.ts'
import { requestPersonalData } from '@rapport/core/operations/preferences/personal-data-mail.ts'
import { type Preferences, readPreferences } from '@rapport/core/operations/preferences/read-preferences.ts'
import { chooseTracking, type TrackingResult } from '@rapport/core/operations/preferences/track-preferences.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import { isTestPreferences, openPreferences } from '@rapport/core/consent/preferences-links.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorPageResponse, pageResponse } from './document.ts'
import { sendMessage, showBrokenLinks } from './message-page.ts'
import { type PageLanguage, PageQuery, readPageLanguage, Token, TokenQuery } from './page-language.ts'
import { acceptPostedForms } from './posted-form.ts'
import { sendPreferencesPage } from './preferences-page.ts'
import type { PageTexts } from './texts/en.ts'

const PostedChoice = z
  .object({
    token: Token,
    leave: z.string().optional().describe('The id of a list to unsubscribe from.'),
    return: z.string().optional().describe('The id of a list to subscribe to again: an email asks to confirm it.'),
    stop: z.string().optional().describe('`all`: unsubscribes from all newsletters.'),
    data: z.string().optional().describe('`email`: emails the person what is kept about them.'),
    tracking: z.string().optional().describe('`save`: records what `opens` and `clicks` say.'),
    opens: z.string().optional().describe('Allows to record opens, after a confirmation by email. Without it: denied.'),
    clicks: z.string().optional().describe('The same for clicks on links.'),
  })
  .describe('The token and what changes, as the buttons of the page post them.')

const submitPreferencesDescription =
  'Unsubscribes from one list, or from all, also from lists that are created later: the suppression `OPTED_OUT` ' +
  'with the source `LINK`, which only the person can lift. Emits `subscription.unsubscribed` for each list that ' +
  'ends. Returning to a list, and allowing what may be recorded, is asked by email; a denial counts at once. `data` ' +
  'emails the person what `GET /contacts/{id}/export` returns, to the address on file.'

/** The page on which a person chooses what they receive. GET changes nothing, because mail scanners follow every link. */
export const preferencesPages: FastifyPluginAsyncZod = async (app) => {
  acceptPostedForms(app)
  showBrokenLinks(app, ({ subscription }) => subscription.brokenUnsubscribe)

  app.get(
    '/public/preferences',
    {
      config: { openMailToken: openPreferences },
      schema: {
        tags: ['Hosted pages'],
        operationId: 'pages.showPreferences',
        summary: 'Show the preferences page',
        description:
          'The page that a link in every campaign email opens: the lists of the contact, with a way off each, what may be recorded, their data by email, and "Unsubscribe from all newsletters". It changes nothing: its buttons send the POST.',
        querystring: TokenQuery,
        response: { 200: pageResponse, 400: errorPageResponse, 404: errorPageResponse },
      },
    },
    async (request, reply) => showPreferences(request, reply, { token: request.query.token }),
  )
  app.post(
    '/public/preferences',
    {
      config: { openMailToken: openPreferences },
      schema: {
        tags: ['Hosted pages'],
        operationId: 'pages.submitPreferences',
        summary: 'Submit the preferences page',
        description: submitPreferencesDescription,
        consumes: ['application/x-www-form-urlencoded'],
        querystring: PageQuery,
        body: PostedChoice,
        response: { 200: pageResponse, 400: errorPageResponse, 403: errorPageResponse, 404: errorPageResponse },
      },
    },
    submitPreferences,
  )
}

async function submitPreferences(
  request: FastifyRequest<{ Body: z.output<typeof PostedChoice> }>,
  reply: FastifyReply,
) {
  const { baseCtx, body } = request
  const { token } = body
  if (isTestPreferences(baseCtx, token)) return sendTestMessage(request, reply)
  const describeChange = await applyChoice(baseCtx, body, readPageLanguage(request))
  return showPreferences(request, reply, { token, describeChange })
}

type DescribeChange = (preferences: Preferences, language: PageLanguage) => string | undefined

/** Applies what a button says, and returns how the page confirms it. */
async function applyChoice(
  base: BaseCtx,
  choice: z.output<typeof PostedChoice>,
  { isKnown, texts: { preferences: shown }, ...language }: PageLanguage,
): Promise<DescribeChange | undefined> {
  const { token, leave, return: returnTo, stop, data, tracking } = choice
  const locale = isKnown ? language.locale : undefined
  if (leave !== undefined) {
    const listId = parseListId(leave)
    await leaveListByPreferences(base, { token, listId })
    return ({ sender, holder }, { texts: { subscription } }) => {
      const list = typeof holder === 'string' ? undefined : holder.lists.find(({ id }) => id === listId)
      return subscription.unsubscribed.text(list ? subscription.emails(list.name, sender) : subscription.anyEmails)
    }
  }
  if (returnTo !== undefined) {
    const isAsked = await askToReturn(base, { token, listId: parseListId(returnTo), locale })
    return ({ holder }) => (isAsked && typeof holder !== 'string' ? shown.asked(holder.maskedEmail) : shown.notAsked)
  }
  if (tracking === 'save') {
    const allowed = (['opens', 'clicks'] as const).filter((action) => choice[action] !== undefined)
    const result = await chooseTracking(base, { token, allowed, wording: shown.tracking, locale })
    return ({ holder }) => describeTrackingResult(result, shown, holder)
  }
  if (data === 'email') {
    const isSent = await requestPersonalData(base, { token, locale })
    return ({ holder }) =>
      isSent && typeof holder !== 'string' ? shown.data.sent(holder.maskedEmail) : shown.data.notSent
  }
  if (stop === 'all') await stopAllMail(base, token)
  return undefined
}

function describeTrackingResult(
  result: TrackingResult,
  { tracking: texts, notAsked }: PageTexts['preferences'],
  holder: Preferences['holder'],
): string | undefined {
  if (typeof holder === 'string') return undefined
  return { SAVED: texts.saved, NOT_ASKED: notAsked, ASKED: texts.asked(holder.maskedEmail) }[result]
}

function parseListId(text: string): ListId {
  const result = Id('lst').safeParse(text)
  if (!result.success) throw invalidToken()
  return result.data
}

async function showPreferences(
  request: FastifyRequest,
  reply: FastifyReply,
  { token, describeChange }: { token: string; describeChange?: DescribeChange | undefined },
): Promise<FastifyReply> {
  const { baseCtx } = request
  if (isTestPreferences(baseCtx, token)) return sendTestMessage(request, reply)
  const preferences = await readPreferences(baseCtx, token)
  const language = readPageLanguage(request, preferences?.locales)
  if (!preferences) return sendMessage(reply, { language, ...language.texts.preferences.closed })
  const notice = describeChange?.(preferences, language)
  return sendPreferencesPage(reply, { language, preferences, token, notice })
}

function sendTestMessage(request: FastifyRequest, reply: FastifyReply) {
  const language = readPageLanguage(request)
  const { subscription, preferences } = language.texts
  return sendMessage(reply, { language, title: subscription.test.title, text: preferences.test })
}

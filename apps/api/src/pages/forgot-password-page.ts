import { ForgotPasswordInput } from '@rapport/core/auth/auth.schema.ts'
import { requestPasswordReset } from '@rapport/core/auth/password-resets.ts'
import { formTexts } from '@rapport/core/forms/texts/form-texts.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type ConstantTime, roundUpDuration } from '../http/constant-time.ts'
import { sendAccountPage } from './account-page.ts'
import { errorPageResponse, pageResponse } from './document.ts'
import { sendMessage } from './message-page.ts'
import { PageQuery, readPageLanguage, readVisitorLocale } from './page-language.ts'

const path = '/forgot-password'
const PostedFields = z.record(z.string(), z.string()).nullish().describe('The fields of the page: `email`.')

function preparePage(request: FastifyRequest) {
  const language = readPageLanguage(request)
  const { title: heading, text, button, done } = language.texts.account.forgotPassword
  return { page: { language, heading, text, button }, done }
}

/** The page that emails a link to choose a new password. The pages that ask for a password link to it. */
export const forgotPasswordPage: FastifyPluginAsyncZod<ConstantTime> = async (app, timings) => {
  const schema = { tags: ['Hosted pages'], querystring: PageQuery }
  app.get(
    path,
    {
      schema: {
        ...schema,
        operationId: 'pages.showForgotPassword',
        summary: 'Show the page "Forgot your password?"',
        description: 'The pages that ask for a password link to it. Its form sends the POST.',
        response: { 200: pageResponse },
      },
    },
    async (request, reply) => sendAccountPage(reply, preparePage(request).page),
  )
  app.post(
    path,
    {
      config: { rateLimit: { max: 5 } },
      schema: {
        ...schema,
        operationId: 'pages.submitForgotPassword',
        summary: 'Submit the page "Forgot your password?"',
        description:
          'Emails a reset link that expires after one hour, as `POST /auth/forgot-password`. The page is the same for known and unknown addresses.',
        consumes: ['application/x-www-form-urlencoded'],
        body: PostedFields,
        response: { 200: pageResponse, 400: errorPageResponse },
      },
    },
    async (request, reply) => {
      const { page, done } = preparePage(request)
      const email = request.body?.['email']
      const { data: input } = ForgotPasswordInput.safeParse({ email })
      if (!input) {
        const problem = formTexts[page.language.language].email
        return sendAccountPage(reply.code(400), { ...page, email: email ?? '' }, { problem, field: 'email' })
      }
      await roundUpDuration(timings, () =>
        requestPasswordReset(request.baseCtx, { ...input, locale: readVisitorLocale(request) }),
      )
      return sendMessage(reply, { language: page.language, ...done })
    },
  )
}

import { ForgotPasswordInput } from '@rapport/core/auth/auth.schema.ts'
import { requestPasswordReset } from '@rapport/core/auth/password-resets.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type ConstantTime, inConstantTime } from '../http/constant-time.ts'
import { PublicQuery } from '../routes/shapes.ts'
import { sendAccountPage } from './account-page.ts'
import { errorPageResponse, pageResponse } from './document.ts'
import { sendMessage } from './message-page.ts'

const path = '/forgot-password'
const PostedFields = z.record(z.string(), z.string()).nullish().describe('The fields of the page: `email`.')

const page = {
  heading: 'Forgot your password?',
  text: 'Enter the email address of your account. We will send you a link to choose a new password.',
  button: 'Send link',
}

/** The page that emails a link to choose a new password. The pages that ask for a password link to it. */
export const forgotPasswordPage: FastifyPluginAsyncZod<ConstantTime> = async (app, timings) => {
  const schema = { tags: ['Hosted pages'], querystring: PublicQuery }
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
    async (_request, reply) => sendAccountPage(reply, page),
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
    async ({ baseCtx, body }, reply) => {
      const email = body?.['email']
      const { data: input, error } = ForgotPasswordInput.safeParse({ email })
      if (error) {
        const problem = `The email ${error.issues[0]?.message ?? 'is invalid'}.`
        return sendAccountPage(reply.code(400), { ...page, email: email ?? '' }, { problem })
      }
      await inConstantTime(timings, () => requestPasswordReset(baseCtx, input))
      return sendMessage(reply, {
        title: 'Check your email',
        text: 'If this address has an account, we have sent a link to it. The link expires after one hour.',
      })
    },
  )
}

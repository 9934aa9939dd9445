/** The environment variables of the worker for bounces: see docs/bounces.md. */
import { z } from 'zod'
import { port } from './variable-types.ts'

export const bounceVariables = {
  BOUNCE_HOST: z.string().default('127.0.0.1'),
  BOUNCE_PORT: port.optional().describe('The port on which the worker receives bounces by SMTP'),
  BOUNCE_IMAP_URL: z
    .url({
      protocol: /^imaps?$/,
      error: 'must be a URL such as imaps://user:password@mail.example.com/INBOX',
    })
    .refine((url) => {
      const { username, password } = new URL(url)
      return username !== '' && password !== ''
    }, 'must contain a user and a password')
    .optional()
    .describe('The mailbox from which the worker reads bounces'),
}

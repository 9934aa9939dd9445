import { z } from 'zod'
import { maxWorkspaceName, Workspace } from '../workspaces/workspaces.schema.ts'
import { CreatedAt, Email, SingleLine, TimestampInput, LinkToken } from '../kernel/validation.ts'
import { Timestamp, timestampNow } from '../kernel/values/timestamps.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { roles } from '../db/schema/index.ts'
import { Rights } from './rights/rights.schema.ts'

export const User = z
  .object({
    id: RecordId('usr'),
    email: z.string().describe('The email address of the user.'),
    name: z.string().describe('The name of the user. May be empty.'),
    emailVerifiedAt: Timestamp.nullable().describe('When the user verified the email address. `null` before.'),
    createdAt: CreatedAt,
  })
  .meta({ id: 'User', description: 'A person with a password. A user can be in several workspaces.' })
export type User = z.output<typeof User>

/** Compared exactly as typed: neither trimmed nor normalized. */
export const Password = z
  .string()
  .min(12, 'must have at least 12 characters')
  .max(128, 'must have at most 128 characters')
  .refine((password) => password.isWellFormed(), 'must be valid Unicode')
  .refine((password) => !password.includes('\u0000'), 'must not contain control characters')
  .describe('12 to 128 characters. Common passwords are rejected.')

export const SignupInput = z
  .strictObject({
    email: Email.describe('The email address of the user.'),
    password: Password,
    name: SingleLine(200).default('').describe('The name of the user.'),
    workspaceName: SingleLine(maxWorkspaceName, 1)
      .optional()
      .describe('The name of the new workspace. Default: derived from the name of the user.'),
  })
  .meta({
    id: 'AuthSignUpRequest',
    description: 'A new user and their workspace.',
    examples: [
      { email: 'ada@example.com', password: 'a long sentence that is hard to guess', workspaceName: 'Engines' },
    ],
  })
export type SignupInput = z.output<typeof SignupInput>

export const LoginInput = z
  .strictObject({
    email: SingleLine(254).describe('The email address of the user.'),
    password: z.string().max(1000, 'must have at most 1,000 characters').describe('The password of the user.'),
    workspaceId: Id('wsp')
      .optional()
      .describe('The workspace to log in to. Default: the workspace that the user joined first.'),
  })
  .meta({
    id: 'AuthLogInRequest',
    description: 'The credentials of a user.',
    examples: [{ email: 'ada@example.com', password: 'a long sentence that is hard to guess' }],
  })
export type LoginInput = z.output<typeof LoginInput>

export const ForgotPasswordInput = z.strictObject({ email: Email.describe('The email address of the user.') }).meta({
  id: 'AuthForgotPasswordRequest',
  description: 'The address to which the reset link is sent.',
  examples: [{ email: 'ada@example.com' }],
})
export type ForgotPasswordInput = z.output<typeof ForgotPasswordInput>

/** A token from an email. A malformed token gets the same error as a wrong token. */
export const MailToken = LinkToken(200).describe('The token from the link in the email.')

export const ResetPasswordInput = z.strictObject({ token: MailToken, password: Password }).meta({
  id: 'AuthResetPasswordRequest',
  description: 'The token from the email and the new password.',
  examples: [{ token: 'rpr_…', password: 'a long sentence that is hard to guess' }],
})
export type ResetPasswordInput = z.output<typeof ResetPasswordInput>

export const VerifyEmailInput = z.strictObject({ token: MailToken, password: LoginInput.shape.password }).meta({
  id: 'AuthVerifyEmailRequest',
  description: 'The token from the email and the password of the user.',
  examples: [{ token: 'eyJh…', password: 'a long sentence that is hard to guess' }],
})
export type VerifyEmailInput = z.output<typeof VerifyEmailInput>

export const Session = z
  .object({
    token: z.string().meta({ description: 'Bearer token of this session (`rps_…`). Only this response contains it.' }),
    expiresAt: Timestamp.describe('When the session ends: 30 days after the login.'),
    user: User.describe('The user of the session.'),
    workspace: Workspace.describe('The workspace of the session.'),
  })
  .meta({ id: 'Session', description: 'A new session of a user in one workspace.' })
export type Session = z.output<typeof Session>

export const OpenSession = z
  .object({
    id: RecordId('ses'),
    workspaceId: RecordId('wsp'),
    current: z.boolean().describe('Whether this session made the request.'),
    expiresAt: Timestamp.describe('When the session ends.'),
    createdAt: CreatedAt,
  })
  .meta({ id: 'OpenSession', description: 'An open session. Its token is returned only by the login.' })
export type OpenSession = z.output<typeof OpenSession>

export const SessionQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type SessionQuery = z.output<typeof SessionQuery>

export const OwnWorkspace = z
  .object({ ...Workspace.shape, role: z.enum(roles).describe('Your role in the workspace.') })
  .meta({ id: 'OwnWorkspace', description: 'A workspace that you are a member of, and your role in it.' })
export type OwnWorkspace = z.output<typeof OwnWorkspace>

export const WorkspaceQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type WorkspaceQuery = z.output<typeof WorkspaceQuery>

export const CreatedBy = RecordId('usr')
  .nullable()
  .describe(
    'The user who created the record, directly or with an API key. `null` if it was created on the command line.',
  )

export const ApiKey = z
  .object({
    id: RecordId('key'),
    name: z.string().describe('The name of the key.'),
    role: z
      .enum(roles)
      .describe('The role of the key: at most the role of the user who created it, also after that role has changed.'),
    rights: z
      .array(z.string())
      .nullable()
      .describe(
        'The operations that the key is limited to, as they were given. `null` for all that its role may call.',
      ),
    prefix: z.string().meta({ description: 'The first characters of the key, to recognize it.' }),
    createdBy: CreatedBy,
    expiresAt: Timestamp.nullable().describe('When the key stops working. `null` if it does not expire.'),
    lastUsedAt: Timestamp.nullable().describe(
      'When the key was last used, to within a minute. `null` if it was never used.',
    ),
    createdAt: CreatedAt,
  })
  .meta({ id: 'ApiKey', description: 'A credential for a program, in one workspace and with one role.' })
export type ApiKey = z.output<typeof ApiKey>

export const CreatedApiKey = z
  .object({
    ...ApiKey.shape,
    key: z.string().meta({ description: 'The key itself (`rpk_…`). Only this response contains it.' }),
  })
  .meta({ id: 'CreatedApiKey', description: 'A new API key, with the key itself.' })
export type CreatedApiKey = z.output<typeof CreatedApiKey>

export const ApiKeyInput = z
  .strictObject({
    name: SingleLine(200, 1).describe('The name of the key.'),
    role: z.enum(['VIEWER', 'MEMBER', 'ADMIN']).default('MEMBER').describe('The role of the key, at most your own.'),
    rights: Rights.nullable()
      .default(null)
      .describe(
        'The operations that the key is limited to, such as `contacts.list`, or `contacts.*` for a whole resource. A leading `-` takes away: `["contacts.*", "-contacts.export"]`. Each operation shows its name as `x-required-right`. The role still applies. `auth.me` and `mcp.call` are always allowed; operations of apiKeys, invites and members cannot be named. `null`: all that the role may call.',
      ),
    expiresAt: TimestampInput.refine((moment) => moment > timestampNow(), 'must be in the future')
      .nullable()
      .default(null)
      .describe(
        'When the key stops working. `null` if it does not expire. An empty text is a 400, not `null`: an empty variable must not create a key that never expires.',
      ),
  })
  .meta({
    id: 'ApiKeyCreate',
    description: 'A new API key.',
    examples: [{ name: 'Website', role: 'MEMBER', rights: ['contacts.*', '-contacts.export'] }],
  })
export type ApiKeyInput = z.output<typeof ApiKeyInput>

export const ApiKeyQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  createdBy: Id('usr').optional().describe('The id of the user who created the keys, directly or with an API key.'),
})
export type ApiKeyQuery = z.output<typeof ApiKeyQuery>

export const Me = z
  .object({
    kind: z.enum(['user', 'apiKey']).describe('Whether the credential is the token of a user or an API key.'),
    role: z.enum(roles).describe('The role of the credential.'),
    user: User.nullable().describe('The user. `null` if the credential is an API key.'),
    apiKey: ApiKey.nullable().describe('The API key. `null` if the credential is the token of a user.'),
    workspace: Workspace.describe('The workspace of the credential.'),
  })
  .meta({ id: 'Me', description: 'The credential of the request.' })
export type Me = z.output<typeof Me>

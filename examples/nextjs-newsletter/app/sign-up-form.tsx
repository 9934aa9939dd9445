'use client'

import { type ComponentProps, useActionState, useEffect, useRef } from 'react'
import { type SignUp, subscribe } from './subscribe.ts'

const initial: SignUp = { values: { firstName: '', email: '' }, isAccepted: false, errors: {} }

/** Without JavaScript, the browser sends the form to the same action, and shows the page that it returns. */
export function SignUpForm() {
  const [state, action, isPending] = useActionState(subscribe, initial)
  const { values, isAccepted, errors, failure } = state
  const panel = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Screen readers announce the element that gets the focus: the first wrong field, or the message.
    if (state !== initial) panel.current?.querySelector<HTMLElement>('[aria-invalid], .message')?.focus()
  }, [state])
  return (
    <div className="panel" ref={panel}>
      {isAccepted ? (
        <CheckInbox email={values.email} />
      ) : (
        // The API validates the fields, so that the messages are the same with and without JavaScript.
        <form action={action} noValidate>
          {failure !== undefined && (
            <p className="message failure" role="alert" tabIndex={-1}>
              {failure}
            </p>
          )}
          <Field
            label="First name"
            hint="optional"
            name="firstName"
            autoComplete="given-name"
            defaultValue={values.firstName}
            error={errors['firstName']}
          />
          <Field
            label="Email address"
            name="email"
            type="email"
            autoComplete="email"
            required
            defaultValue={values.email}
            error={errors['email']}
          />
          <p className="honeypot" aria-hidden="true">
            <label htmlFor="website">Leave this empty</label>
            <input id="website" name="website" tabIndex={-1} autoComplete="off" />
          </p>
          <button disabled={isPending}>{isPending ? 'One moment …' : 'Send me the letter'}</button>
          <p className="terms">Once a month. Every letter has a link to unsubscribe.</p>
        </form>
      )}
    </div>
  )
}

interface FieldProps extends ComponentProps<'input'> {
  label: string
  name: string
  hint?: string
  error: string | undefined
}

function Field({ label, name, hint, error, ...input }: FieldProps) {
  const errorId = `${name}-error`
  return (
    <p className="field">
      <label htmlFor={name}>
        {label} {hint && <span className="hint">{hint}</span>}
      </label>
      <input
        id={name}
        name={name}
        {...input}
        {...(error !== undefined && { 'aria-invalid': true, 'aria-describedby': errorId })}
      />
      {error !== undefined && (
        <span className="error" id={errorId}>
          This {error}.
        </span>
      )}
    </p>
  )
}

/** Shown for known and unknown addresses, as a visitor must not learn which addresses are subscribed. */
function CheckInbox({ email }: { email: string }) {
  return (
    <div className="message" tabIndex={-1}>
      <h2>Check your inbox</h2>
      <p>
        We sent a link to <strong>{email}</strong>. Open it to confirm your subscription.
      </p>
      <p className="terms">No email? Look in your spam folder. If you are already subscribed, you need no link.</p>
    </div>
  )
}

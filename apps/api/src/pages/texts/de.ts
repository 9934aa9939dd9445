import type { PageTexts } from './en.ts'

export const de: PageTexts = {
  brokenLink: 'Dieser Link funktioniert nicht',
  brokenTrackedLink: 'Der Link ist möglicherweise unvollständig. Bitte klicken Sie in der E-Mail noch einmal darauf.',
  suspended: {
    title: 'Das ist im Moment nicht möglich',
    text: 'Dieser Dienst ist zurzeit nicht verfügbar. Bitte versuchen Sie es später noch einmal.',
  },
  tooManyRequests: {
    title: 'Bitte versuchen Sie es in einer Minute noch einmal',
    text: 'Diese Seite wurde aus Ihrem Netzwerk zu oft aufgerufen. Es wurde nichts geändert.',
  },
  unavailable: {
    title: 'Das ist im Moment nicht möglich',
    text: 'Bitte versuchen Sie es gleich noch einmal. Es wurde nichts geändert.',
  },
  continue: 'Weiter',
  subscription: {
    emails: (list, sender) => `„${list}“ von ${sender}`,
    anyEmails: 'die E-Mails dieser Liste',
    allNewsletters: 'die Newsletter dieses Absenders, auch die später hinzukommenden,',
    confirm: {
      title: 'Bestätigen Sie Ihre Anmeldung',
      text: (emails) =>
        `Klicken Sie auf die Schaltfläche, um ${emails} zu erhalten. Sie können sich jederzeit wieder abmelden.`,
      button: 'Anmeldung bestätigen',
    },
    confirmed: {
      title: 'Sie sind angemeldet',
      text: (emails) => `Sie erhalten ab jetzt ${emails}. Sie können diese Seite schließen.`,
    },
    unsubscribe: {
      title: 'Abmelden',
      text: (emails) => `Klicken Sie auf die Schaltfläche, wenn Sie ${emails} nicht mehr erhalten möchten.`,
      button: 'Abmelden',
    },
    unsubscribed: {
      title: 'Sie sind abgemeldet',
      text: (emails) => `Sie erhalten ${emails} nicht mehr.`,
      undo: 'Falls das ein Versehen war, können Sie es innerhalb von zehn Minuten rückgängig machen.',
      button: 'Wieder anmelden',
    },
    restored: {
      title: 'Sie sind wieder angemeldet',
      text: (emails) => `Sie erhalten ${emails} wie bisher. Sie können diese Seite schließen.`,
    },
    test: {
      title: 'Dies ist eine Test-E-Mail',
      text: 'Der Link hat hier keine Wirkung. In der Kampagne dient er zum Abmelden.',
    },
    brokenConfirmation:
      'Der Link ist möglicherweise unvollständig oder älter als sieben Tage. Bitte verwenden Sie den Link in der neuesten E-Mail oder melden Sie sich noch einmal an.',
    brokenUnsubscribe:
      'Der Link ist unvollständig. Bitte klicken Sie in der E-Mail noch einmal darauf, oder antworten Sie auf die E-Mail und bitten Sie um Abmeldung.',
    brokenUndo:
      'Das ist nur innerhalb von zehn Minuten nach der Abmeldung möglich. Bitte melden Sie sich dort wieder an, wo Sie sich ursprünglich angemeldet hatten.',
  },
  tracking: {
    opens: 'wann Sie E-Mails dieses Absenders öffnen',
    clicks: 'wann Sie in E-Mails dieses Absenders auf Links klicken',
    opensAndClicks: 'wann Sie E-Mails dieses Absenders öffnen und darin auf Links klicken',
    also: (sender) =>
      `Sie können außerdem erlauben, dass ${sender} Folgendes erfasst. Ihre Anmeldung hängt nicht davon ab, und Sie können dies jederzeit ändern.`,
    granted: (sender, what) => `${sender} darf ab jetzt erfassen, ${what}.`,
    confirm: {
      title: 'Bestätigen Sie, was erfasst werden darf',
      text: (sender, what) =>
        `Mit einem Klick auf die Schaltfläche erlauben Sie, dass ${sender} erfasst, ${what}. Sie können dies jederzeit ändern.`,
      button: 'Bestätigen',
    },
    confirmed: {
      title: 'Vielen Dank',
      text: (sender, what) => `${sender} darf ab jetzt erfassen, ${what}. Sie können diese Seite schließen.`,
    },
    broken:
      'Der Link ist möglicherweise unvollständig oder älter als sieben Tage, oder Sie haben seitdem etwas anderes gewählt. Es wurde nichts geändert.',
  },
  preferences: {
    title: 'Ihre E-Mail-Einstellungen',
    text: (sender, email) => `Hier bestimmen Sie, welche E-Mails ${sender} an ${email} sendet.`,
    received: 'Sie erhalten',
    left: 'Sie erhalten nicht mehr',
    pending: 'Noch nicht bestätigt',
    noLists: (sender) => `${sender} sendet Ihnen keine Newsletter.`,
    asked: (email) =>
      `Um sich wieder anzumelden, klicken Sie bitte auf den Link in der E-Mail, die wir an ${email} gesendet haben.`,
    notAsked:
      'Es wurde keine E-Mail gesendet. Vielleicht haben Sie vor Kurzem schon eine erhalten: Bitte verwenden Sie den Link darin oder versuchen Sie es später noch einmal.',
    stop: {
      title: 'Keine Newsletter mehr',
      text: (sender) =>
        `${sender} sendet Ihnen dann keine Newsletter mehr, auch keine, die später hinzukommen. E-Mails zu einem Konto oder einer Bestellung kommen weiterhin.`,
      button: 'Alle Newsletter abbestellen',
    },
    stopped: (sender) =>
      `${sender} sendet Ihnen keine Newsletter mehr, auch keine, die später hinzukommen. E-Mails zu einem Konto oder einer Bestellung kommen weiterhin.`,
    tracking: {
      title: 'Was erfasst werden darf',
      opens: 'Wann ich die E-Mails öffne',
      clicks: 'Wann ich auf Links klicke',
      levels: {
        PERSON: 'Wird zurzeit erfasst',
        ANONYMOUS: 'Wird zurzeit ohne Ihren Namen gezählt',
        OFF: 'Wird zurzeit nicht erfasst',
      },
      button: 'Speichern',
      saved:
        'Gespeichert. Was Sie nicht erlauben, wird über Sie nicht mehr erfasst, auch nicht bei E-Mails, die Sie schon erhalten haben.',
      asked: (email) =>
        `Um dies zu erlauben, klicken Sie bitte auf den Link in der E-Mail, die wir an ${email} gesendet haben.`,
    },
    data: {
      title: 'Ihre Daten',
      text: (sender, email) =>
        `Alles, was ${sender} in der Kontaktdatenbank über Sie gespeichert hat, in einer E-Mail an ${email}.`,
      button: 'Meine Daten anfordern',
      sent: (email) => `Wir senden Ihre Daten an ${email}.`,
      notSent:
        'Ihre Daten wurden nicht gesendet. Vielleicht haben Sie sie erst vor Kurzem erhalten. Bitte versuchen Sie es später noch einmal.',
    },
    former:
      'Dieser Link gehört zu einer früheren E-Mail-Adresse und kann deshalb nicht zeigen, was Sie erhalten. Alle Newsletter abbestellen können Sie hier trotzdem.',
    erased: (sender) => `${sender} hat in der Kontaktdatenbank keine Daten über Sie gespeichert.`,
    erasedAndStopped: (sender) =>
      `${sender} hat in der Kontaktdatenbank nur noch gespeichert, dass Sie keine Newsletter erhalten möchten.`,
    closed: {
      title: 'Diesen Absender gibt es nicht mehr',
      text: 'Sie erhalten von ihm keine Newsletter mehr, und Ihre Daten werden gelöscht.',
    },
    test: 'Der Link hat hier keine Wirkung. In der Kampagne führt er zu den persönlichen E-Mail-Einstellungen.',
    link: 'Alle E-Mail-Einstellungen',
  },
  form: {
    problems: 'Bitte korrigieren Sie Folgendes:',
    titleWithProblems: (form) => `Bitte prüfen: ${form}`,
    changed: 'Dieses Formular wurde geändert. Bitte prüfen Sie Ihre Angaben und senden Sie es noch einmal ab.',
    optional: '(freiwillig)',
    choose: 'Bitte auswählen',
    honeypot: 'Bitte leer lassen',
    send: 'Absenden',
    unavailable: {
      title: 'Dieses Formular ist nicht verfügbar',
      text: 'Es wurde vielleicht geschlossen, oder der Link ist unvollständig.',
    },
    failed: 'Das Formular konnte nicht abgesendet werden. Bitte versuchen Sie es noch einmal.',
    confirm:
      'Wenn Sie E-Mails erhalten möchten, bestätigen Sie dies bitte mit dem Link in der E-Mail, die wir Ihnen senden.',
    tooManyAttempts: 'Zu viele Versuche. Bitte versuchen Sie es in einer Minute noch einmal.',
  },
  account: {
    name: 'Ihr Name',
    email: 'E-Mail-Adresse',
    password: 'Passwort',
    forgotPassword: {
      title: 'Passwort vergessen?',
      text: 'Geben Sie die E-Mail-Adresse Ihres Kontos ein. Wir senden Ihnen einen Link, mit dem Sie ein neues Passwort wählen können.',
      button: 'Link senden',
      done: {
        title: 'Bitte sehen Sie in Ihrem Postfach nach',
        text: 'Falls es zu dieser Adresse ein Konto gibt, haben wir einen Link dorthin gesendet. Er ist eine Stunde lang gültig.',
      },
    },
    resetPassword: {
      title: 'Neues Passwort wählen',
      heading: (email) => `Neues Passwort für ${email} wählen`,
      text: 'Verwenden Sie mindestens 12 Zeichen. Sie werden auf allen Geräten abgemeldet.',
      button: 'Passwort speichern',
      done: {
        title: 'Ihr neues Passwort ist gespeichert',
        text: 'Sie sind auf allen Geräten abgemeldet. Sie können diese Seite schließen.',
      },
      broken:
        'Er ist möglicherweise unvollständig, wurde schon benutzt oder ist älter als eine Stunde. Fordern Sie einen neuen Link an, um ein Passwort zu wählen.',
      requestLink: 'Neuen Link anfordern',
    },
    acceptInvite: {
      title: (workspace) => `${workspace} beitreten`,
      heading: (workspace, email) => `${workspace} als ${email} beitreten`,
      newAccount: 'Wählen Sie ein Passwort mit mindestens 12 Zeichen.',
      knownAccount: 'Zu dieser Adresse haben Sie bereits ein Konto. Bitte geben Sie dessen Passwort ein.',
      button: 'Beitreten',
      done: { title: 'Willkommen', text: 'Sie sind dem Arbeitsbereich beigetreten. Sie können diese Seite schließen.' },
      broken:
        'Er ist möglicherweise unvollständig, wurde schon benutzt oder zurückgezogen oder ist älter als sieben Tage. Bitten Sie die Person, die Sie eingeladen hat, die Einladung noch einmal zu senden.',
      wrongPassword: 'Zu dieser Adresse gibt es bereits ein Konto. Bitte geben Sie dessen Passwort ein.',
    },
    verifyEmail: {
      title: 'E-Mail-Adresse bestätigen',
      heading: (email) => `${email} bestätigen`,
      text: 'Geben Sie Ihr Passwort ein, um zu bestätigen, dass diese E-Mail-Adresse Ihnen gehört.',
      button: 'Bestätigen',
      done: { title: 'Ihre E-Mail-Adresse ist bestätigt', text: 'Vielen Dank. Sie können diese Seite schließen.' },
      broken:
        'Er ist möglicherweise unvollständig oder älter als sieben Tage. Fordern Sie eine neue E-Mail zur Bestätigung an. Oder wählen Sie ein neues Passwort: Auch damit wird Ihre Adresse bestätigt.',
      wrongPassword: 'Das Passwort ist falsch.',
    },
    problems: {
      passwordMissing: 'Bitte geben Sie ein Passwort ein.',
      passwordLength: 'Das Passwort muss 12 bis 128 Zeichen haben.',
      passwordUnsuitable:
        'Dieses Passwort wird zu häufig verwendet oder enthält unzulässige Zeichen. Bitte wählen Sie ein anderes.',
      name: 'Ihr Name darf höchstens 200 Zeichen lang sein und keine Zeilenumbrüche enthalten.',
      tooManyAttempts: 'Zu viele Fehlversuche. Bitte warten Sie einige Minuten und versuchen Sie es noch einmal.',
      failed: 'Das hat nicht funktioniert. Bitte versuchen Sie es später noch einmal.',
    },
  },
}

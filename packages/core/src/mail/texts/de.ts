import type { MailTexts } from './en.ts'

export const de: MailTexts = {
  confirmation: {
    title: (list) => `Bitte bestätigen Sie Ihre Anmeldung: ${list}`,
    text: (sender, list, address) => `Bitte bestätigen Sie, dass ${sender} „${list}“ an ${address} senden darf.`,
    tracking: (sender, what) =>
      `Auf der Seite können Sie außerdem erlauben, dass ${sender} erfasst, ${what}. Ihre Anmeldung hängt nicht davon ab.`,
    button: 'Anmeldung bestätigen',
    small:
      'Der Link ist sieben Tage lang gültig. Falls Sie dies nicht angefordert haben, können Sie diese E-Mail ignorieren: Ohne Ihre Bestätigung werden Sie nicht angemeldet.',
  },
  tracking: {
    opens: 'wann Sie E-Mails dieses Absenders öffnen',
    clicks: 'wann Sie in E-Mails dieses Absenders auf Links klicken',
    opensAndClicks: 'wann Sie E-Mails dieses Absenders öffnen und darin auf Links klicken',
    title: (sender) => `Bitte bestätigen Sie, was ${sender} erfassen darf`,
    text: (sender, what) => `Bitte bestätigen Sie, dass ${sender} erfassen darf, ${what}.`,
    button: 'Bestätigen',
    small:
      'Der Link ist sieben Tage lang gültig. Falls Sie dies nicht angefordert haben, können Sie diese E-Mail ignorieren: Dann ändert sich nichts.',
  },
  personalData: {
    title: (sender) => `Ihre Daten bei ${sender}`,
    attached: (sender) =>
      `Die angehängte Datei enthält alles, was ${sender} in der Kontaktdatenbank über Sie gespeichert hat. Es ist eine JSON-Datei, die Sie mit jedem Texteditor öffnen können.`,
    tooLarge: (sender) =>
      `Was ${sender} in der Kontaktdatenbank über Sie gespeichert hat, ist zu umfangreich für eine E-Mail. Bitte wenden Sie sich an ${sender}, um es auf anderem Weg zu erhalten.`,
    small:
      'Sie erhalten diese E-Mail, weil sie auf der Seite mit Ihren E-Mail-Einstellungen angefordert wurde. Sie wurde nur an Ihre Adresse gesendet.',
  },
  invite: {
    title: (workspace) => `Einladung zu ${workspace}`,
    text: (workspace) => `Sie wurden in den Arbeitsbereich „${workspace}“ eingeladen.`,
    button: 'Einladung annehmen',
    small:
      'Der Link ist sieben Tage lang gültig und kann einmal verwendet werden. Falls Sie diese Einladung nicht erwartet haben, können Sie diese E-Mail ignorieren.',
  },
  passwordReset: {
    title: 'Neues Passwort wählen',
    text: (address) => `Für ${address} wurde ein neues Passwort angefordert.`,
    warning:
      'Diese Adresse wurde nie bestätigt. Vielleicht hat jemand anderes das Konto angelegt. Mit einem neuen Passwort werden deshalb zu Ihrer Sicherheit auch die API-Schlüssel und Einladungen widerrufen, die mit dem Konto erstellt wurden. In den Arbeitsbereichen, die dem Konto gehören, werden die Webhooks abgeschaltet und die Mail-Hooks gelöscht. Bitte prüfen Sie danach die Mitglieder dieser Arbeitsbereiche.',
    button: 'Neues Passwort wählen',
    small:
      'Der Link ist eine Stunde lang gültig und kann einmal verwendet werden. Falls Sie ihn nicht angefordert haben, können Sie diese E-Mail ignorieren: Ihr Passwort bleibt unverändert.',
  },
  verification: {
    title: 'Bitte bestätigen Sie Ihre E-Mail-Adresse',
    text: (host, address) => `Bei ${host} wurde ein Konto für ${address} angelegt.`,
    request: 'Bitte bestätigen Sie, dass diese E-Mail-Adresse Ihnen gehört.',
    button: 'E-Mail-Adresse bestätigen',
    small:
      'Der Link ist sieben Tage lang gültig; Sie brauchen dafür Ihr Passwort. Falls Sie dieses Konto nicht angelegt haben, können Sie diese E-Mail ignorieren oder das Passwort zurücksetzen, um das Konto zu übernehmen.',
  },
  footer: {
    reason: (list) => `Sie erhalten diese E-Mail, weil Sie für „${list}“ angemeldet sind.`,
    unsubscribe: 'Abmelden',
    preferences: 'E-Mail-Einstellungen',
  },
  emailFooter: {
    REQUEST: (sender) => `Sie erhalten diese E-Mail von ${sender}, weil Sie sie angefordert haben.`,
    CONTRACT: (sender) => `Sie erhalten diese E-Mail von ${sender} wegen Ihres Kontos oder Ihrer Bestellung.`,
    SECURITY: (sender) => `Sie erhalten diese E-Mail von ${sender}, weil sie die Sicherheit Ihres Kontos betrifft.`,
    LEGAL: (sender) => `Sie erhalten diese E-Mail von ${sender}, weil sie gesetzlich vorgeschrieben ist.`,
  },
}

using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Server.Calls;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Server;

/// <summary>Warns when the certificate of a server expires soon: at the start, and then every day.</summary>
/// <param name="monitor">Writes the warnings.</param>
internal sealed class CertificateWatch(CallMonitor monitor) : IDisposable
{
    private static readonly TimeSpan LongestAhead = TimeSpan.FromDays(14);
    private static readonly TimeSpan Period = TimeSpan.FromDays(1);

    private readonly Lock _gate = new();
    private Timer? _timer;
    private bool _disposed;

    /// <summary>The warning for a certificate that is not valid, or that expires within 14 days or within the
    /// last third of its validity; null for no warning.</summary>
    public static string? WarningOf(X509Certificate2 certificate, DateTimeOffset now)
    {
        string subject = TerminalText.OneLine(certificate.Subject, maxLength: 200);
        if (CertificateTime.ProblemOf(certificate, now) is { } problem)
        {
            return $"The certificate '{subject}' of this server is not valid: {problem}. Clients reject it. "
                + "Renew it.";
        }

        return certificate.NotAfter - now.LocalDateTime < AheadOf(certificate)
            ? $"The certificate '{subject}' of this server expires on "
                + $"{CertificateTime.DayOf(certificate.NotAfter)}. Clients reject it then. Renew it before."
            : null;
    }

    /// <summary>Watches a certificate, instead of the one before.</summary>
    public void Watch(X509Certificate2 certificate)
    {
        Check(certificate);
        TimeSpan first = certificate.NotAfter - DateTime.Now - AheadOf(certificate);
        lock (_gate)
        {
            _timer?.Dispose();
            _timer = _disposed ? null : new Timer(
                _ => Check(certificate), null,
                first > TimeSpan.Zero && first < Period ? first : Period, Period);
        }
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            _timer?.Dispose();
        }
    }

    // Certificates that are renewed automatically are often valid for a few days only.
    private static TimeSpan AheadOf(X509Certificate2 certificate)
    {
        TimeSpan third = (certificate.NotAfter - certificate.NotBefore) / 3;
        return third < LongestAhead ? third : LongestAhead;
    }

    private void Check(X509Certificate2 certificate)
    {
        try
        {
            if (WarningOf(certificate, DateTimeOffset.Now) is { } text)
            {
                monitor.Warn(text);
            }
        }
        catch (CryptographicException)
        {
            // The certificate was disposed of.
        }
    }
}

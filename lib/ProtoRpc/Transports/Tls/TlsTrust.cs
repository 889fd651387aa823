using System.ComponentModel;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Transports.Tls;

/// <summary>The settings for the handshake of one TLS connection, and the reason if the server is not
/// trusted.</summary>
internal sealed class TlsTrust
{
    private readonly RpcEndpoint _endpoint;
    private volatile Distrust? _distrust;

    /// <param name="endpoint">The server.</param>
    /// <param name="tls">The TLS settings.</param>
    /// <param name="protocols">The application protocols to negotiate.</param>
    public TlsTrust(RpcEndpoint endpoint, RpcTlsOptions tls, params SslApplicationProtocol[] protocols)
    {
        _endpoint = endpoint;
        Options = new SslClientAuthenticationOptions
        {
            TargetHost = tls.ServerName ?? endpoint.Host,
            EnabledSslProtocols = TlsVersions.Spoken,
            ApplicationProtocols = protocols.Length == 0 ? null : [.. protocols],
            CertificateChainPolicy = ChainPolicy(tls),
            ClientCertificates = tls.ClientCertificate is null ? null : [tls.ClientCertificate],
            LocalCertificateSelectionCallback = tls.ClientCertificate is null
                ? null
                : (_, _, _, _, _) => tls.ClientCertificate,
            RemoteCertificateValidationCallback = (_, certificate, chain, errors) =>
            {
                _distrust = errors == SslPolicyErrors.None || tls.SkipCertificateCheck
                    ? null
                    : Distrust.Find(certificate, chain, errors);
                return _distrust is null;
            },
        };
    }

    /// <summary>The options of the handshake.</summary>
    public SslClientAuthenticationOptions Options { get; }

    /// <summary>Makes the only handshake with these options.</summary>
    /// <exception cref="RpcException">Unavailable, with the reason.</exception>
    public void Judge(Action handshake)
    {
        try
        {
            handshake();
        }
        catch (Exception e) when (e is AuthenticationException or IOException)
        {
            throw FailureOfOnly(e);
        }
    }

    /// <summary>The same without holding a thread.</summary>
    public async Task JudgeAsync(Func<Task> handshake)
    {
        try
        {
            await handshake().ConfigureAwait(false);
        }
        catch (Exception e) when (e is AuthenticationException or IOException)
        {
            throw FailureOfOnly(e);
        }
    }

    /// <summary>Whether one of several handshakes failed because the server is not trusted.</summary>
    /// <remarks>An exception does not contain its handshake. But only the exception for a rejected
    /// certificate has no inner one, so an earlier rejection is not mistaken for the reason of another
    /// failure.</remarks>
    public bool IsDistrust(Exception failure) =>
        failure is AuthenticationException { InnerException: null } && _distrust is not null;

    /// <summary>Why one of several handshakes failed.</summary>
    public RpcException Failure(Exception failure) => IsDistrust(failure)
        ? FailureOfOnly(failure)
        : TlsErrors.HandshakeFailed(_endpoint, failure);

    // SChannel sends an alert after a rejected certificate. If the server has closed the connection by then,
    // the exception is about the alert.
    private RpcException FailureOfOnly(Exception failure) => _distrust is { } why
        ? TlsErrors.Untrusted(_endpoint, why, failure)
        : Options.ApplicationProtocols is [var only] && only == SslApplicationProtocol.Http2
            && TlsErrors.IsOfApplicationProtocol(failure)
            ? WrongProtocolErrors.NoHttp2(_endpoint, failure)
            : TlsErrors.HandshakeFailed(_endpoint, failure);

    // No revocation check: it would download a list from any address in the certificate.
    private static X509ChainPolicy ChainPolicy(RpcTlsOptions tls)
    {
        X509ChainPolicy policy = new() { RevocationMode = X509RevocationMode.NoCheck };
        if (tls.CaCertificates is { } authorities)
        {
            policy.TrustMode = X509ChainTrustMode.CustomRootTrust;
            policy.CustomTrustStore.AddRange(authorities);
        }

        return policy;
    }
}

/// <summary>Why a client does not trust the certificate of a server, and what can help.</summary>
/// <param name="Reasons">The reasons.</param>
/// <param name="Remedies">The advice, without the end of the sentence.</param>
internal sealed record Distrust(string Reasons, string Remedies)
{
    private const string Tls = nameof(RpcTlsOptions);

    // The status of a chain that does not end at a trusted authority.
    private const X509ChainStatusFlags NoAuthority =
        X509ChainStatusFlags.UntrustedRoot | X509ChainStatusFlags.PartialChain;

    /// <summary>Reads the errors of a validation.</summary>
    public static Distrust Find(X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors)
    {
        List<string> reasons = [];
        List<string> remedies = [];
        X509ChainStatusFlags states = X509ChainStatusFlags.NoError;
        if (errors.HasFlag(SslPolicyErrors.RemoteCertificateNotAvailable))
        {
            reasons.Add("it sent no certificate");
        }

        if (errors.HasFlag(SslPolicyErrors.RemoteCertificateNameMismatch))
        {
            reasons.Add($"its certificate is for another name ({certificate?.Subject})");
            remedies.Add(
                $"set {Tls}.{nameof(RpcTlsOptions.ServerName)} to a name in the certificate");
        }

        if (errors.HasFlag(SslPolicyErrors.RemoteCertificateChainErrors))
        {
            states = (chain?.ChainStatus ?? []).Aggregate(states, (all, state) => all | state.Status);
            reasons.Add(
                $"its certificate ({certificate?.Subject}) is not valid: "
                + string.Join(", ", StatesOf(certificate, chain)));
        }

        if (states.HasFlag(X509ChainStatusFlags.NotTimeValid))
        {
            remedies.Add("renew the certificate on the server, or check the clocks of both machines");
        }

        bool isOther = (states & ~(NoAuthority | X509ChainStatusFlags.NotTimeValid)) != 0;
        if ((states & NoAuthority) != 0 || isOther || remedies.Count == 0)
        {
            remedies.Add($"set {Tls}.{nameof(RpcTlsOptions.CaCertificates)} to its authority");
        }

        return new(string.Join("; ", reasons), string.Join(", and ", remedies));
    }

    private static IEnumerable<string> StatesOf(X509Certificate? certificate, X509Chain? chain) =>
        (chain?.ChainStatus ?? [])
            .Select(state => state.Status == X509ChainStatusFlags.NotTimeValid
                ? CertificateTime.ProblemOf(certificate as X509Certificate2, DateTimeOffset.UtcNow)
                    ?? state.StatusInformation.Trim().TrimEnd('.')
                : state.StatusInformation.Trim().TrimEnd('.'))
            .Distinct();
}

/// <summary>The validity of certificates.</summary>
internal static class CertificateTime
{
    /// <summary>Why a certificate is not valid at a time; null if it is.</summary>
    public static string? ProblemOf(X509Certificate2? certificate, DateTimeOffset now) =>
        certificate is null ? null
        : certificate.NotAfter < now.LocalDateTime ? $"it expired on {DayOf(certificate.NotAfter)}"
        : certificate.NotBefore > now.LocalDateTime
            ? $"it is not valid before {DayOf(certificate.NotBefore)}"
            : null;

    /// <summary>A local time as a day of UTC, in which certificates have it.</summary>
    public static string DayOf(DateTime time) =>
        time.ToUniversalTime().ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
}

/// <summary>Makes exceptions of TLS handshakes that failed, with one id and one text for a cause on every
/// transport.</summary>
internal static class TlsErrors
{
    private const string Tls = nameof(RpcTlsOptions);

    // SEC_E_APPLICATION_PROTOCOL_MISMATCH.
    private const int ApplicationProtocolMismatch = unchecked((int)0x80090367);

    /// <summary>The client does not trust the server's certificate.</summary>
    public static RpcException Untrusted(RpcEndpoint endpoint, Distrust why, Exception inner) => new(
        RpcStatusCode.Unavailable, RpcErrorIds.CertificateNotTrusted,
        $"Cannot trust '{endpoint}': {why.Reasons}. {char.ToUpperInvariant(why.Remedies[0])}"
        + $"{why.Remedies[1..]}; for a test, accept any certificate with "
        + $"{Tls}.{nameof(RpcTlsOptions.SkipCertificateCheck)}.", endpoint, inner);

    /// <summary>The server closed the connection after the handshake and before its first reply. In TLS 1.3,
    /// servers check the client's certificate after the client has completed the handshake.</summary>
    /// <param name="endpoint">The server.</param>
    /// <param name="tls">The TLS settings of the handshake.</param>
    /// <param name="mayHaveExecuted">Whether the call may have run.</param>
    /// <param name="inner">How the connection broke; null if the server closed it.</param>
    public static RpcException HungUp(
        RpcEndpoint endpoint, RpcTlsOptions tls, bool mayHaveExecuted, Exception? inner) => new(
        RpcStatusCode.Unavailable, RpcErrorIds.TlsHandshakeFailed,
        $"'{endpoint}' closed the connection after the TLS handshake, before its first reply. "
        + (tls.ClientCertificate is null
            ? "It may require a client certificate "
                + $"({Tls}.{nameof(RpcTlsOptions.ClientCertificate)}), or be stopping."
            : $"It may reject the client certificate '{tls.ClientCertificate.Subject}', or be stopping."),
        endpoint, inner)
        {
            MayHaveExecuted = mayHaveExecuted,
        };

    /// <summary>Whether the server ended the handshake because it speaks none of the protocols that the
    /// client offered (RFC 7301, section 3.2: the alert no_application_protocol).</summary>
    /// <remarks>.NET does not expose the alert. OpenSSL's text is not translated, and SChannel has a separate
    /// code.</remarks>
    public static bool IsOfApplicationProtocol(Exception? failure)
    {
        for (; failure is not null; failure = failure.InnerException)
        {
            if (failure is Win32Exception { NativeErrorCode: ApplicationProtocolMismatch }
                || failure.Message.Contains("no application protocol", StringComparison.OrdinalIgnoreCase))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The handshake failed for another reason.</summary>
    public static RpcException HandshakeFailed(RpcEndpoint endpoint, Exception exception)
    {
        Exception cause = exception is AuthenticationException { InnerException: { } inner }
            ? inner
            : exception;
        return new RpcException(
            RpcStatusCode.Unavailable, RpcErrorIds.TlsHandshakeFailed,
            $"The TLS handshake with '{endpoint}' failed: {cause.Message.TrimEnd('.')}. "
            + "The server may require a client certificate "
+ $"({Tls}.{nameof(RpcTlsOptions.ClientCertificate)}) or another version of TLS.", endpoint, exception);
    }
}

/// <summary>The versions of TLS that clients and servers speak, also where the system would still speak older
/// ones (RFC 8996 ends TLS 1.0 and 1.1).</summary>
internal static class TlsVersions
{
    public const SslProtocols Spoken = SslProtocols.Tls12 | SslProtocols.Tls13;
}

/// <summary>How servers build the chains of their callers' certificates.</summary>
internal static class CallerChain
{
    /// <summary>A policy that asks no other machine.</summary>
    /// <remarks>Issuers and lists of revoked certificates would be fetched from any address in the
    /// certificate of an unknown caller.</remarks>
    public static X509ChainPolicy NewPolicy() => new()
    {
        RevocationMode = X509RevocationMode.NoCheck,
        DisableCertificateDownloads = true,
    };
}

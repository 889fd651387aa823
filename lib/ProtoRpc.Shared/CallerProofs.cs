namespace ProtoRpc;

/// <summary>The ways to authenticate a caller that a server accepts.</summary>
[Flags]
internal enum CallerProofs
{
    None = 0,

    /// <summary>A user name and a password.</summary>
    Password = 1 << 0,

    /// <summary>A bearer token.</summary>
    Token = 1 << 1,

    /// <summary>The account of the caller's process.</summary>
    OwnAccount = 1 << 2,

    /// <summary>A client certificate of TLS.</summary>
    Certificate = 1 << 3,
}

/// <summary>Says how to authenticate, if a server rejected a caller without a proof that it
/// accepts.</summary>
internal static class CallerProof
{
    /// <summary>The scheme in WWW-Authenticate by which a server announces that it accepts client
    /// certificates.</summary>
    /// <remarks>As in draft-thomson-httpbis-cant. HTTP has no registered scheme for certificates, and clients
    /// ignore schemes that they do not have.</remarks>
    public const string CertificateScheme = "ClientCertificate";

    /// <summary>The ways that servers on an endpoint can support.</summary>
    public static CallerProofs Supported(RpcEndpoint endpoint) =>
        (endpoint.Has(EndpointFeatures.Passwords) ? CallerProofs.Password : CallerProofs.None)
        | (endpoint.Has(EndpointFeatures.Tokens) ? CallerProofs.Token : CallerProofs.None)
        | (CanShowCertificate(endpoint) ? CallerProofs.Certificate : CallerProofs.None);

    /// <summary>Whether clients can show a certificate on an endpoint.</summary>
    public static bool CanShowCertificate(RpcEndpoint endpoint) =>
        endpoint.IsTls && endpoint.Has(EndpointFeatures.Tokens);

    /// <summary>The ways that the schemes of a WWW-Authenticate header announce.</summary>
    public static CallerProofs OfSchemes(IEnumerable<string> schemes)
    {
        CallerProofs all = CallerProofs.None;
        foreach (string scheme in schemes)
        {
            all |= scheme.ToUpperInvariant() switch
            {
                "BASIC" or "DIGEST" => CallerProofs.Password,
                "BEARER" => CallerProofs.Token,
                "CLIENTCERTIFICATE" => CallerProofs.Certificate,
                "NEGOTIATE" or "NTLM" => CallerProofs.Password | CallerProofs.OwnAccount,
                _ => CallerProofs.None,
            };
        }

        return all;
    }

    /// <summary>The members to set (<see cref="MemberTexts"/>); empty for none.</summary>
    public static string Advice(CallerProofs accepted)
    {
        List<string> ways = [];
        if (accepted.HasFlag(CallerProofs.Password))
        {
            ways.Add("RpcClientSecurity.Credential");
        }

        if (accepted.HasFlag(CallerProofs.Token))
        {
            ways.Add("RpcClientSecurity.Token");
        }

        if (accepted.HasFlag(CallerProofs.Certificate))
        {
            ways.Add("RpcTlsOptions.ClientCertificate");
        }

        if (accepted.HasFlag(CallerProofs.OwnAccount))
        {
            ways.Add("RpcClientSecurity.Authentication (Self)");
        }

        return ways.Count == 0 ? "" : $"To authenticate, use {string.Join(" or ", ways)}.";
    }
}

namespace ProtoRpc;

/// <summary>What a server accepts to identify a caller.</summary>
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
}

/// <summary>Says how to authenticate, if a server rejected an anonymous call.</summary>
internal static class CallerProof
{
    /// <summary>What servers on an endpoint can accept.</summary>
    public static CallerProofs Supported(RpcEndpoint endpoint) =>
        (endpoint.Has(EndpointFeatures.Passwords) ? CallerProofs.Password : CallerProofs.None)
        | (endpoint.Has(EndpointFeatures.Tokens) ? CallerProofs.Token : CallerProofs.None);

    /// <summary>What the schemes of HTTP's WWW-Authenticate accept.</summary>
    public static CallerProofs OfSchemes(IEnumerable<string> schemes)
    {
        CallerProofs all = CallerProofs.None;
        foreach (string scheme in schemes)
        {
            all |= scheme.ToUpperInvariant() switch
            {
                "BASIC" or "DIGEST" => CallerProofs.Password,
                "BEARER" => CallerProofs.Token,
                "NEGOTIATE" or "NTLM" => CallerProofs.Password | CallerProofs.OwnAccount,
                _ => CallerProofs.None,
            };
        }

        return all;
    }

    /// <summary>What to set, by the names of members (<see cref="MemberTexts"/>); empty for
    /// nothing.</summary>
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

        if (accepted.HasFlag(CallerProofs.OwnAccount))
        {
            ways.Add("RpcClientSecurity.Authentication (Self)");
        }

        return ways.Count == 0 ? "" : $"To authenticate, use {string.Join(" or ", ways)}.";
    }
}

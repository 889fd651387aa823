using System.Net;
using System.Runtime.InteropServices;
using System.Security;

namespace ProtoRpc.Security.Ntlm;

/// <summary>Whom an NTLM client says it is, with the hash that proves it.</summary>
internal sealed class NtlmCredential
{
    private NtlmCredential(string user, string domain, byte[] ntHash)
    {
        User = user;
        Domain = domain;
        NtHash = ntHash;
    }

    public string User { get; }

    public string Domain { get; }

    public byte[] NtHash { get; }

    /// <summary>Takes name and password of a credential;
    /// <c>DOMAIN\user</c> may stand in its user name.</summary>
    public static NtlmCredential From(NetworkCredential credential)
    {
        (string user, string domain) = (credential.UserName, credential.Domain);
        int backslash = user.IndexOf('\\');
        if (domain.Length == 0 && backslash >= 0)
        {
            (domain, user) = (user[..backslash], user[(backslash + 1)..]);
        }

        return new NtlmCredential(user, domain, HashOf(credential.SecurePassword));
    }

    // The password is in plain memory no longer than it takes to hash it.
    private static unsafe byte[] HashOf(SecureString password)
    {
        nint text = Marshal.SecureStringToGlobalAllocUnicode(password);
        try
        {
            return NtlmCrypto.NtHash(new ReadOnlySpan<char>((char*)text, password.Length));
        }
        finally
        {
            Marshal.ZeroFreeGlobalAllocUnicode(text);
        }
    }
}

using System.Net;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc;

/// <summary>An account of a listener that validates NTLM itself: a name and the NT hash of the
/// password.</summary>
/// <remarks>Anyone with the hash can authenticate as the user: protect it like the password.</remarks>
public sealed class NtlmAccount
{
    private NtlmAccount(string user, string domain, byte[] ntHash)
    {
        if (user.Length == 0)
        {
            throw new RpcException(RpcStatusCode.InvalidArgument, "An NTLM account needs a user name.")
            {
                ErrorId = RpcErrorIds.InvalidNtlmAccount,
            };
        }

        User = user;
        Domain = domain;
        NtHash = ntHash;
    }

    /// <summary>The caller's name in handlers: <c>DOMAIN\user</c>, or only the user.</summary>
    public string Name => Domain.Length == 0 ? User : $@"{Domain}\{User}";

    internal string User { get; }

    internal string Domain { get; }

    internal byte[] NtHash { get; }

    /// <summary>Creates an account with a password.</summary>
    /// <param name="credential">The name and password. <c>DOMAIN\user</c> only matches callers with that
    /// domain; a bare user name matches callers with any domain.</param>
    /// <exception cref="RpcException">InvalidArgument: there is no user name.</exception>
    public static NtlmAccount From(NetworkCredential credential)
    {
        ArgumentNullException.ThrowIfNull(credential);
        NtlmCredential known = NtlmCredential.From(credential);
        return new NtlmAccount(known.User, known.Domain, known.NtHash);
    }

    /// <summary>Creates an account with the NT hash of a password: the MD4 hash of its UTF-16 text.</summary>
    /// <param name="name"><c>DOMAIN\user</c> or a bare user name.</param>
    /// <param name="ntHash">The hash, 16 octets.</param>
    /// <exception cref="RpcException">InvalidArgument: there is no user name, or the hash has another
    /// size.</exception>
    public static NtlmAccount FromHash(string name, ReadOnlySpan<byte> ntHash)
    {
        ArgumentNullException.ThrowIfNull(name);
        if (ntHash.Length != NtlmCrypto.KeySize)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The NT hash of '{name}' has {ntHash.Length} bytes; it must have 16.")
            {
                ErrorId = RpcErrorIds.InvalidNtlmAccount,
            };
        }

        int backslash = name.IndexOf('\\');
        return new NtlmAccount(
            name[(backslash + 1)..], backslash < 0 ? "" : name[..backslash], ntHash.ToArray());
    }

    /// <summary>The name; never the hash.</summary>
    public override string ToString() => Name;
}

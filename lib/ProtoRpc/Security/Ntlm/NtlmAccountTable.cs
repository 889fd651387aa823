using System.Security.Cryptography;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The accounts of a server by name; never changed, so any number of threads may look.</summary>
internal sealed class NtlmAccountTable
{
    private readonly ILookup<string, NtlmAccount> _byUser;

    public NtlmAccountTable(IEnumerable<NtlmAccount> accounts)
    {
        _byUser = accounts.ToLookup(account => account.User, StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>A hash of no account.</summary>
    public byte[] HashOfNobody { get; } = RandomNumberGenerator.GetBytes(NtlmCrypto.KeySize);

    /// <summary>The account of that domain, else one without domain, else null.</summary>
    public NtlmAccount? Find(string user, string domain)
    {
        NtlmAccount? bare = null;
        foreach (NtlmAccount account in _byUser[user])
        {
            if (account.Domain.Length == 0)
            {
                bare = account;
            }
            else if (account.Domain.Equals(domain, StringComparison.OrdinalIgnoreCase))
            {
                return account;
            }
        }

        return bare;
    }
}

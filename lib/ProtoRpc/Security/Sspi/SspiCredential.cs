using System.Net;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace ProtoRpc.Security.Sspi;

/// <summary>The credential for a package: the logon of this process, or a user and password.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class SspiCredential : IDisposable
{
    private SspiHandle _handle;
    private bool _isDisposed;

    private SspiCredential(string package, SspiHandle handle) => (Package, _handle) = (package, handle);

    /// <summary>Frees the handle if the object was not disposed.</summary>
    ~SspiCredential() => Free();

    /// <summary>The package's name.</summary>
    public string Package { get; }

    /// <summary>The handle, which is valid while this object is alive.</summary>
    public SspiHandle Handle => _handle;

    /// <summary>Of a client: the own account, or a user.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the package or account cannot be used.</exception>
    public static SspiCredential OfClient(string package, NetworkCredential? user)
    {
        if (user is null)
        {
            return Acquire(package, SspiApi.Outbound, null);
        }

        (string domain, string name) = Split(user);
        fixed (char* names = name)
        fixed (char* domains = domain)
        fixed (char* passwords = user.Password)
        {
            SspiIdentity identity = new()
            {
                User = names,
                UserLength = (uint)name.Length,
                Domain = domains,
                DomainLength = (uint)domain.Length,
                Password = passwords,
                PasswordLength = (uint)user.Password.Length,
                Flags = SspiIdentity.Unicode,
            };
            return Acquire(package, SspiApi.Outbound, &identity);
        }
    }

    /// <summary>Of a listener: what verifies callers.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the package cannot be used.</exception>
    public static SspiCredential OfServer(string package) => Acquire(package, SspiApi.Inbound, null);

    public void Dispose()
    {
        Free();
        GC.SuppressFinalize(this);
    }

    // DOMAIN\user is split into two names. The package itself splits user@realm.
    private static (string Domain, string Name) Split(NetworkCredential user)
    {
        int backslash = user.UserName.IndexOf('\\');
        return user.Domain.Length == 0 && backslash >= 0
            ? (user.UserName[..backslash], user.UserName[(backslash + 1)..])
            : (user.Domain, user.UserName);
    }

    private static SspiCredential Acquire(string package, uint use, SspiIdentity* identity)
    {
        SspiHandle handle;
        long expiry;
        int status = SspiApi.AcquireCredentialsHandle(
            null, package, use, null, identity, null, null, &handle, &expiry);
        return status == SspiStatus.Ok
            ? new SspiCredential(package, handle)
            : throw SspiStatus.NoCredential(package, status);
    }

    private void Free()
    {
        if (!_isDisposed)
        {
            _isDisposed = true;
            fixed (SspiHandle* handle = &_handle)
            {
                SspiApi.FreeCredentialsHandle(handle);
            }
        }
    }
}

/// <summary><c>SEC_WINNT_AUTH_IDENTITY_W</c>: a user with its password; lengths in characters.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiIdentity
{
    public const uint Unicode = 2;

    public char* User;
    public uint UserLength;
    public char* Domain;
    public uint DomainLength;
    public char* Password;
    public uint PasswordLength;
    public uint Flags;
}

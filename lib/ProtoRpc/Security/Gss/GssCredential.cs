using System.Net;
using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace ProtoRpc.Security.Gss;

/// <summary>Authenticates an account: a ticket, a password, or the key of a service. Thread-safe.</summary>
internal sealed unsafe class GssCredential : SafeHandle
{
    private GssCredential(nint credential)
        : base(0, ownsHandle: true) => SetHandle(credential);

    public override bool IsInvalid => handle == 0;

    /// <summary>The tickets of the account that this process runs as.</summary>
    /// <exception cref="RpcException">Unauthenticated: the user has no tickets, or they are
    /// expired.</exception>
    public static GssCredential OfSelf()
    {
        uint major = Acquire(null, GssApi.Initiate, out nint credential, out uint minor);
        return (major & GssApi.Failures) == 0
            ? new GssCredential(credential)
            : throw GssErrors.NoTicket(major, minor);
    }

    /// <summary>The keys of a service, from the keytab.</summary>
    /// <param name="service">The name of the service; null for every service with a key.</param>
    /// <exception cref="RpcException">FailedPrecondition: the machine has no key.</exception>
    public static GssCredential OfService(string? service)
    {
        using GssName? name = service is null ? null : new GssName(service);
        uint major = Acquire(name, GssApi.Accept, out nint credential, out uint minor);
        return (major & GssApi.Failures) == 0
            ? new GssCredential(credential)
            : throw GssErrors.NoKey(service, major, minor);
    }

    /// <summary>A user's name and password; the KDC is asked when the first connection is
    /// authenticated.</summary>
    /// <exception cref="RpcException">Unauthenticated: the KDC does not know them, or is absent.</exception>
    public static GssCredential Create(NetworkCredential user)
    {
        using GssName name = new(PrincipalOf(user));
        byte[] password = Encoding.UTF8.GetBytes(user.Password);
        try
        {
            uint minor;
            nint credential = 0;
            GssOidSet mechanisms = new(GssOid.Kerberos);
            fixed (byte* pointer = password)
            {
                GssBuffer text = new(pointer, password.Length);
                uint major = GssApi.gss_acquire_cred_with_password(
                    &minor, name.DangerousGetHandle(), &text, 0, &mechanisms, GssApi.Initiate, &credential,
                    null, null);
                return (major & GssApi.Failures) == 0
                    ? new GssCredential(credential)
                    : throw GssErrors.Refused(major, minor);
            }
        }
        finally
        {
            CryptographicOperations.ZeroMemory(password);
        }
    }

    /// <summary><c>user@REALM</c>, or just the user for the realm of this machine.</summary>
    public static string PrincipalOf(NetworkCredential user)
    {
        (string name, string realm) = (user.UserName, user.Domain);
        int backslash = name.IndexOf('\\');
        if (realm.Length == 0 && backslash >= 0)
        {
            (realm, name) = (name[..backslash], name[(backslash + 1)..]);
        }

        // Realms are upper case, but users write domains in any case.
        return realm.Length == 0 || name.Contains('@') ? name : $"{name}@{realm.ToUpperInvariant()}";
    }

    protected override bool ReleaseHandle()
    {
        uint minor;
        nint credential = handle;
        return GssApi.gss_release_cred(&minor, &credential) == 0;
    }

    private static uint Acquire(GssName? name, int usage, out nint credential, out uint minor)
    {
        GssOidSet mechanisms = new(GssOid.Kerberos);
        nint acquired = 0;
        uint detail;
        uint major = GssApi.gss_acquire_cred(
            &detail, name?.DangerousGetHandle() ?? 0, 0, &mechanisms, usage, &acquired, null, null);
        (credential, minor) = (acquired, detail);
        return major;
    }
}

/// <summary>The name of a user or service.</summary>
internal sealed unsafe class GssName : SafeHandle
{
    /// <summary>Reads a name as Kerberos writes it.</summary>
    /// <exception cref="RpcException">Unauthenticated: that is no name.</exception>
    public GssName(string principal)
        : base(0, ownsHandle: true)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(principal);
        uint minor;
        nint name = 0;
        fixed (byte* pointer = bytes)
        {
            GssBuffer text = new(pointer, bytes.Length);
            uint major = GssApi.gss_import_name(&minor, &text, GssOid.PrincipalName, &name);
            if ((major & GssApi.Failures) != 0)
            {
                throw GssErrors.Refused(major, minor);
            }
        }

        SetHandle(name);
    }

    public override bool IsInvalid => handle == 0;

    /// <summary>The text of a name of the library.</summary>
    public static string Display(nint name)
    {
        uint minor;
        GssBuffer text = default;
        uint major = GssApi.gss_display_name(&minor, name, &text, null);
        return (major & GssApi.Failures) == 0
            ? Encoding.UTF8.GetString(GssBuffer.Take(ref text))
            : throw GssErrors.Refused(major, minor);
    }

    protected override bool ReleaseHandle()
    {
        uint minor;
        nint name = handle;
        return GssApi.gss_release_name(&minor, &name) == 0;
    }
}

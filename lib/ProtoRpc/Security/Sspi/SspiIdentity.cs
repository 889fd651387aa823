using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Sspi;

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

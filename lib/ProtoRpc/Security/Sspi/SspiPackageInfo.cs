using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Sspi;

/// <summary><c>SecPkgInfoW</c>: a package.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiPackageInfo
{
    public uint Capabilities;
    public ushort Version;
    public ushort RpcId;
    public uint MaxToken;
    public char* Name;
    public char* Comment;
}

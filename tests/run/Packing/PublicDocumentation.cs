using System.Xml;
using System.Xml.Linq;

namespace ProtoRpc.TestRun.Packing;

/// <summary>Keeps the documentation of public members in an XML file of the compiler, which writes internal
/// members also.</summary>
internal static class PublicDocumentation
{
    /// <summary>Rewrites a file.</summary>
    /// <param name="file">The XML documentation.</param>
    /// <param name="assembly">The assembly that it documents.</param>
    public static void Keep(string file, string assembly)
    {
        IReadOnlySet<string> ids = PublicMembers.Of(assembly);
        XDocument document = XDocument.Load(file, LoadOptions.PreserveWhitespace);
        foreach (XElement member in document.Descendants("member").ToArray())
        {
            if (!ids.Contains(member.Attribute("name")!.Value))
            {
                // Also removes the line break and the spaces before the member.
                (member.PreviousNode as XText)?.Remove();
                member.Remove();
            }
        }

        using XmlWriter writer = XmlWriter.Create(file, new XmlWriterSettings { NewLineChars = "\n" });
        document.Save(writer);
    }
}

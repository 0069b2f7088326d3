// Runs one OpenSearch node inside this process until standard input ends: its parent's death ends it too.
// Arguments: home, data, port, names of plugin classes. Prints "started" when the node answers. Works with 2.19 and 3.x,
// whose constructors differ in what a plugin is: a class, or a description of it.

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.opensearch.Version;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

public class OpenSearchLauncher {
    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Settings settings = Settings.builder()
            .put("path.home", home)
            .put("path.data", arguments[1])
            .put("http.port", arguments[2])
            .put("transport.port", "0")
            .put("network.host", "127.0.0.1")
            .put("discovery.type", "single-node")
            .put("cluster.name", "test")
            .put("node.name", "test")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        List<String> plugins = List.of(arguments).subList(3, arguments.length);
        Node node = create(new Environment(settings, home.resolve("config")), plugins);
        node.start();
        System.out.println("started");
        awaitEndOfInput();
        node.close();
    }

    private static Node create(Environment environment, List<String> names) throws Exception {
        Constructor<Node> constructor =
            Node.class.getDeclaredConstructor(Environment.class, Collection.class, boolean.class);
        constructor.setAccessible(true);
        boolean described = describesPlugins(constructor);
        List<Object> plugins = new ArrayList<>();
        for (String name : names) {
            plugins.add(described ? description(name) : Class.forName(name));
        }
        return constructor.newInstance(environment, plugins, false);
    }

    private static boolean describesPlugins(Constructor<Node> constructor) {
        ParameterizedType plugins = (ParameterizedType) constructor.getGenericParameterTypes()[1];
        return plugins.getActualTypeArguments()[0] == PluginInfo.class;
    }

    private static PluginInfo description(String name) {
        return new PluginInfo(name, name, "1", Version.CURRENT, "17", name, null, List.of(), false);
    }

    private static void awaitEndOfInput() throws IOException {
        while (System.in.read() != -1) {
            continue;
        }
    }
}

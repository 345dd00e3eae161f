#!/bin/sh
echo "load: $(uptime | sed 's/.*average[s]*: //')"
